import { existsSync, readdirSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { findProgram, runCommand } from "../../sys/run.ts";
import { systemEnv } from "../config.ts";
import { resources } from "../resources.ts";
import type { SetupConfig, Stage, StageReport } from "../types.ts";
import { NEEDED, type NeededPackage } from "./package-list.ts";

/** The packages of `NEEDED` that the machine lacks. */
function missingPackages(): readonly NeededPackage[] {
  return NEEDED.filter(({ program, compiles }) => (resources.compiles || !compiles) && findProgram(program) === undefined);
}

/** For a machine without apt: the programs to install, with their purposes. */
export function listByPurpose(missing: readonly NeededPackage[]): string {
  return missing.map(({ name, program, purpose }) => `  ${program} (${name} on Debian): ${purpose}`).join("\n");
}

/** apt asks no questions, keeps changed configuration files, waits for a running apt, and installs no recommended packages. */
const INSTALL = [
  "apt-get",
  "install",
  "--yes",
  "--no-install-recommends",
  "-o",
  "DPkg::Lock::Timeout=300",
  "-o",
  "Dpkg::Options::=--force-confdef",
  "-o",
  "Dpkg::Options::=--force-confold",
] as const;

export const packages: Stage = {
  name: "packages",
  title: "Debian packages",
  key: () => Bun.hash(JSON.stringify(NEEDED)).toString(16),
  isDone: () => missingPackages().length === 0,
  async run(config, report) {
    const missing = missingPackages();
    if (missing.length === 0) return report.result("all there");
    if (findProgram("apt-get") === undefined) {
      throw new AppError("failed_precondition", `this machine has no apt; install these by its own means:\n${listByPurpose(missing)}`, {
        reason: "packages_missing",
        details: { missing: missing.map(({ name }) => name) },
      });
    }
    report.result(missing.map(({ name }) => name).join(", "));
    await install(missing, config, report);
    const still = missingPackages();
    if (still.length > 0) {
      throw new AppError("failed_precondition", `apt has installed the packages, and yet these are missing:\n${listByPurpose(still)}`, {
        reason: "packages_missing",
      });
    }
  },
};

async function install(missing: readonly NeededPackage[], config: SetupConfig, report: StageReport): Promise<void> {
  const options = {
    env: { ...systemEnv(config.env), DEBIAN_FRONTEND: "noninteractive", NEEDRESTART_MODE: "a", APT_LISTCHANGES_FRONTEND: "none" },
    onLine: (line: string) => report.progress(line),
    fix: `Look at the machine's package sources ('apt-get update' must work), or install by hand: ${missing.map((p) => p.name).join(" ")}`,
  };
  const argv = [...INSTALL, ...missing.map(({ name }) => name)] as const;
  if (hasPackageLists()) {
    const error = await runCommand(argv, options).catch((e: unknown) => e);
    if (!(error instanceof Error)) return;
    // The usual cause: the lists are older than the packages on the mirror.
  }
  await runCommand(["apt-get", "update", "-o", "DPkg::Lock::Timeout=300"], options);
  await runCommand(argv, options);
}

function hasPackageLists(): boolean {
  const directory = "/var/lib/apt/lists";
  return existsSync(directory) && readdirSync(directory).some((name) => name.endsWith("Release"));
}
