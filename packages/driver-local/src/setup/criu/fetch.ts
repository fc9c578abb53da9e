import { chmodSync, cpSync, existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { CRIU_FILES } from "../../criu/criu.ts";
import { lockFile } from "../../sys/file-lock.ts";
import { runCommand } from "../../sys/run.ts";
import { formatDeb822 } from "../base/apt-sources.ts";
import { machineRelease, machineSources } from "../base/machine.ts";
import { systemEnv } from "../config.ts";
import type { SetupConfig, StageReport } from "../types.ts";

/** To be changed when the directory's layout changes. */
const LAYOUT = 1;
const DOWNLOAD_MS = 120_000;

interface Architecture {
  readonly triplet: string;
  readonly loader: string;
}

const ARCHITECTURES: Readonly<Record<string, Architecture>> = {
  x64: { triplet: "x86_64-linux-gnu", loader: "ld-linux-x86-64.so.2" },
  arm64: { triplet: "aarch64-linux-gnu", loader: "ld-linux-aarch64.so.1" },
};

/** The suite with the newest packages of each distribution. 26 packages of 8.5 MB in all are downloaded, and none is installed. */
const NEWEST: Readonly<Record<string, string>> = { debian: "sid", ubuntu: "devel" };

/**
 * Path of a directory with a private CRIU: from the cache, else downloaded by the machine's apt from the machine's archive. The download holds a
 * lock in the cache, so that data directories that share the cache download once.
 */
export async function privateCriu(config: SetupConfig, report: StageReport): Promise<string> {
  const directory = join(config.cacheDir, `criu-${process.arch}-${LAYOUT}`);
  if (existsSync(directory)) return directory;
  mkdirSync(config.cacheDir, { recursive: true, mode: 0o711 });
  const lock = await lockFile(join(config.cacheDir, "criu.lock"), () => report.progress("waiting for another download of CRIU"));
  try {
    if (!existsSync(directory)) await download(config, directory, report);
    return directory;
  } finally {
    lock.release();
  }
}

async function download(config: SetupConfig, directory: string, report: StageReport): Promise<void> {
  for (const name of readdirSync(config.cacheDir)) {
    if (name.startsWith("criu-work-")) rmSync(join(config.cacheDir, name), { recursive: true, force: true });
  }
  const work = mkdtempSync(join(config.cacheDir, "criu-work-"));
  try {
    report.progress("downloading");
    await downloadPackages(work, config);
    report.progress("unpacking");
    const made = join(work, "made");
    await unpack(work, made);
    await runCommand(["sync", "-f", made]);
    renameSync(made, directory);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Uses separate package lists and a status file without installed packages: so apt downloads every library, and does not touch the machine's state. */
async function downloadPackages(work: string, config: SetupConfig): Promise<void> {
  writeFileSync(join(work, "newest.sources"), newestSources());
  writeFileSync(join(work, "status"), "");
  for (const name of ["lists/partial", "archives/partial"]) mkdirSync(join(work, name), { recursive: true });
  const settings = {
    "Dir::State::Lists": join(work, "lists"),
    "Dir::State::status": join(work, "status"),
    "Dir::Cache": work,
    "Dir::Etc::sourcelist": join(work, "newest.sources"),
    "Dir::Etc::sourceparts": "-",
    "Dir::Etc::preferences": "-",
    "Dir::Etc::preferencesparts": "-",
    "Acquire::Languages": "none",
    "Acquire::IndexTargets::deb::DEP-11::DefaultEnabled": "false",
    // A mirror of the newest suite is often some days old.
    "Acquire::Check-Valid-Until": "false",
    // Only root can read the work directory.
    "APT::Sandbox::User": "root",
  };
  const apt = ["apt-get", "--yes", ...Object.entries(settings).flatMap(([name, value]) => ["-o", `${name}=${value}`])] as [
    string,
    ...string[],
  ];
  const options = {
    env: { ...systemEnv(config.env), DEBIAN_FRONTEND: "noninteractive" },
    signal: AbortSignal.timeout(DOWNLOAD_MS),
    name: "apt-get",
    fix: "Are the machine's package sources reachable ('apt-get update')?",
  };
  await runCommand([...apt, "update", "--error-on=any"], options);
  await runCommand([...apt, "install", "--download-only", "--no-install-recommends", "criu"], options);
}

/** The machine's archive, with its newest suite instead of the machine's suite. */
function newestSources(): string {
  const { id, codename } = machineRelease();
  const archive = machineSources(codename).filter(({ suites }) => suites.includes(codename));
  return formatDeb822(archive.map((source) => ({ ...source, suites: [NEWEST[id] as string] })));
}

async function unpack(work: string, made: string): Promise<void> {
  const architecture = ARCHITECTURES[process.arch];
  if (!architecture) throw new AppError("unimplemented", `there is no CRIU for ${process.arch}`, { reason: "no_criu" });
  const root = join(work, "root");
  for (const name of readdirSync(join(work, "archives"))) {
    if (name.endsWith(".deb")) await runCommand(["dpkg-deb", "--extract", join(work, "archives", name), root]);
  }
  const libraries = join(root, "usr/lib", architecture.triplet);
  mkdirSync(join(made, CRIU_FILES.libraries), { recursive: true });
  cpSync(join(root, "usr/sbin/criu"), join(made, CRIU_FILES.program));
  cpSync(join(libraries, architecture.loader), join(made, CRIU_FILES.loader), { dereference: true });
  for (const name of readdirSync(libraries)) {
    if (/\.so(\.|$)/.test(name)) cpSync(join(libraries, name), join(made, CRIU_FILES.libraries, name), { dereference: true });
  }
  for (const name of [CRIU_FILES.program, CRIU_FILES.loader]) chmodSync(join(made, name), 0o755);
}
