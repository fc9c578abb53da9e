import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { freeRange, RUN_DIRECTORY } from "../network/index.ts";
import { isPoolMounted, poolPaths } from "../pool-storage/index.ts";
import { unmountRuntimeState } from "../state/state-mount.ts";
import { hasErrno } from "../sys/libc.ts";
import { readInstance } from "./instance-file.ts";
import { restoreKernelSettings } from "./kernel-settings.ts";
import { NEEDED } from "./stages/package-list.ts";
import type { SetupConfig } from "./types.ts";

/** Names of everything that set-up, server and command line write into a data directory. Other files in it are not removed. */
const OURS =
  /^(admin-token|api-key|bin|boxyard\.db(\.copy|\.part|\.whole|\.kept-\d+)?(-wal|-shm|-journal)?|build-files|cache|criu|dashboard|downloads|guest|kernel\.json|layers\.lock|network|node-id|orphans\.json|pool|pool\.img|pool\.lock|recordings|run|run-caches|sandboxes|sdk|(test-)?server\.(json|lock|log)(\.new|\.\d+)?|supervisor\.json(\.new)?|(setup|instance|kernel)\.json\.new|setup\.json|start\.lock(-journal)?|store-(id|key(\.next)?)|templates|tls)$/;
/** The file that identifies a data directory of this machine, and the lock of set-up: removed last, so that a second attempt finds them. */
const LAST = ["setup.lock", "instance.json"] as const;

/** True when a driver can be opened on the data directory, and must be, to release what it has on the machine. */
export function isInstalled(dataDir: string): boolean {
  return existsSync(dataDir) && readInstance(dataDir) !== undefined && (existsSync(poolPaths(dataDir).image) || isPoolMounted(dataDir));
}

/**
 * Undoes set-up: restores kernel settings and removes the files of the data directory. The driver must have been released. Repeatable; after a kill
 * at any line the next call goes on from there. Returns what was kept, in sentences for the user. Throws `failed_precondition`, reason `not_ours`,
 * and removes nothing, when the directory was not set up on this machine.
 */
export async function uninstall(config: SetupConfig, runDirectory = RUN_DIRECTORY): Promise<string[]> {
  const { dataDir } = config;
  const own = readInstance(dataDir);
  if (!own)
    throw new AppError("failed_precondition", `${dataDir} is no data directory of Boxyard's on this machine`, { reason: "not_ours" });
  const kept: string[] = [];
  const others = serversIn(runDirectory).filter((instance) => instance !== own.instance);
  if (others.length === 0) {
    // An earlier version wrote the record to the data directory.
    for (const directory of [runDirectory, dataDir]) restoreKernelSettings(directory);
    if (existsSync(runDirectory)) removeEmpty(runDirectory);
  } else kept.push(`The kernel's settings stay as they are: ${others.length} other Boxyard server(s) on this machine need them.`);
  // When the pool was unmounted by hand, no driver has released this mount.
  unmountRuntimeState(dataDir);
  for (const name of readdirSync(dataDir)) if (OURS.test(name)) rmSync(`${dataDir}/${name}`, { recursive: true, force: true });
  await freeRange(dataDir, runDirectory);
  for (const name of LAST) rmSync(`${dataDir}/${name}`, { force: true });
  if (!removeEmpty(dataDir)) kept.push(`Not ours, and left: ${readdirSync(dataDir).join(", ")} in ${dataDir}.`);
  if (!config.cacheDir.startsWith(`${dataDir}/`) && existsSync(config.cacheDir)) kept.push(`The cache ${config.cacheDir} is left.`);
  kept.push(`Packages of the system are left; set-up needed: ${NEEDED.map(({ name }) => name).join(" ")}.`);
  return kept;
}

/** Instances that have a network on this machine: each has the file of its router namespace. */
function serversIn(runDirectory: string): string[] {
  if (!existsSync(runDirectory)) return [];
  return readdirSync(runDirectory).flatMap((name) => /^boxyard-([0-9a-f]{8})$/.exec(name)?.[1] ?? []);
}

function removeEmpty(directory: string): boolean {
  try {
    rmdirSync(directory);
    return true;
  } catch (error) {
    if (hasErrno(error, "ENOTEMPTY")) return false;
    throw error;
  }
}
