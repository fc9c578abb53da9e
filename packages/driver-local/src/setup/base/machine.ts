import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { runCommand } from "../../sys/run.ts";
import { type AptSource, ofRelease, parseDeb822, parseOneLine } from "./apt-sources.ts";

export interface Release {
  /** `debian` or `ubuntu`. */
  readonly id: string;
  /** `bookworm`. */
  readonly codename: string;
}

/** Reads /etc/os-release. Other systems than Debian and Ubuntu are `unimplemented`, reason `no_debian`. */
export function parseRelease(osRelease: string): Release {
  const field = (name: string) => new RegExp(`^${name}="?([^"\\n]*)"?$`, "m").exec(osRelease)?.[1] ?? "";
  const release = { id: field("ID"), codename: field("VERSION_CODENAME") };
  if (/^(debian|ubuntu)$/.test(release.id) && /^[a-z]+$/.test(release.codename)) return release;
  const system = field("PRETTY_NAME") || release.id || "this system";
  throw new AppError(
    "unimplemented",
    `the base template is built from the machine's own Debian packages, and this is ${system}: build it on a Debian or Ubuntu machine, ` +
      "and set BOXYARD_CACHE here to a copy of the cache directory there",
    { reason: "no_debian" },
  );
}

export function machineRelease(): Release {
  return parseRelease(readFileSync("/etc/os-release", "utf8"));
}

/** All package sources that apt is set to use, third parties' too. */
export function aptSources(apt: string): AptSource[] {
  const files = [join(apt, "sources.list"), ...listed(join(apt, "sources.list.d"))];
  return files.filter(existsSync).flatMap((file) => {
    const text = readFileSync(file, "utf8");
    return file.endsWith(".sources") ? parseDeb822(text) : parseOneLine(text);
  });
}

/** The machine's own package sources for its release. None is `failed_precondition`, reason `no_package_sources`. */
export function machineSources(codename: string, apt = "/etc/apt"): AptSource[] {
  const own = ofRelease(aptSources(apt), codename);
  if (own.length > 0) return own;
  throw new AppError("failed_precondition", `${apt}/sources.list* name no package source of '${codename}' itself: add one`, {
    reason: "no_package_sources",
  });
}

function listed(directory: string): string[] {
  if (!existsSync(directory)) return [];
  return readdirSync(directory)
    .filter((name) => /\.(list|sources)$/.test(name))
    .sort()
    .map((name) => join(directory, name));
}

/** Settings of the machine's apt that may be needed to reach the packages; only for the build. */
const BUILD_SETTINGS = /^Acquire::(https?|ftp)::|^Acquire::(Check-Valid-Until|Retries)\b/i;

/** `Acquire::http::Proxy "…";` and the like from `apt-config dump`; lists (`::`) are left out. */
export function buildSettings(aptConfigDump: string): string[] {
  return aptConfigDump
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => BUILD_SETTINGS.test(line) && /^\S+[^:] ".+";$/.test(line))
    .map((line) => line.replace(/;$/, ""));
}

export async function machineAptSettings(env: Readonly<Record<string, string | undefined>>): Promise<string[]> {
  return buildSettings(await runCommand(["apt-config", "dump"], { env }));
}
