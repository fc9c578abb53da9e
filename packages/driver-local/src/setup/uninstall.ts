import { existsSync, readdirSync, rmdirSync, rmSync } from "node:fs";
import { RUN_FOLDER } from "../network/index.ts";
import { poolPaths } from "../pool-storage/index.ts";
import { hasErrno } from "../sys/libc.ts";
import { readInstance } from "./instance-file.ts";
import { restoreKernelSettings } from "./kernel-settings.ts";
import { NEEDED } from "./stages/package-list.ts";
import type { SetupConfig } from "./types.ts";

/** Everything that set-up, server and command line write into a data folder, by its name there. What else lies in it is not ours to remove. */
const OURS =
  /^(api-key|boxyard\.db(-wal|-shm|-journal)?|build-files|cache|criu|downloads|guest|kernel\.json|layers\.lock|network|node-id|pool|pool\.img|pool\.lock|run|run-caches|sandboxes|sdk|(test-)?server\.(json|lock|log)(\.new)?|setup\.json|start\.lock(-journal)?|store-(id|key)|templates)$/;
/** What tells that a folder is a data folder of this machine, and the lock that set-up takes there: last, so that a second try finds them. */
const LAST = ["setup.lock", "instance.json"] as const;

/** True when a driver can be opened on the data folder, and has to be, to give back what the machine holds for it. */
export function isInstalled(dataDir: string): boolean {
  return existsSync(dataDir) && readInstance(dataDir) !== undefined && existsSync(poolPaths(dataDir).image);
}

/**
 * Undoes what set-up did: kernel settings and the data folder's files. The driver must have been released. Repeatable; killed at any
 * line, the next one goes on from there. Returns what was kept, in sentences for people.
 */
export function uninstall(config: SetupConfig, runFolder = RUN_FOLDER): string[] {
  const { dataDir } = config;
  const own = readInstance(dataDir);
  if (!own) return [`${dataDir} is no data folder of Boxyard's on this machine; nothing was removed.`];
  const kept: string[] = [];
  const others = serversIn(runFolder).filter((instance) => instance !== own.instance);
  if (others.length === 0) {
    // An earlier version kept the record in the data folder.
    for (const folder of [runFolder, dataDir]) restoreKernelSettings(folder);
    if (existsSync(runFolder)) removeEmpty(runFolder);
  } else kept.push(`The kernel's settings stay as they are: ${others.length} other Boxyard server(s) on this machine need them.`);
  for (const name of readdirSync(dataDir)) if (OURS.test(name)) rmSync(`${dataDir}/${name}`, { recursive: true, force: true });
  for (const name of LAST) rmSync(`${dataDir}/${name}`, { force: true });
  if (!removeEmpty(dataDir)) kept.push(`Not ours, and left: ${readdirSync(dataDir).join(", ")} in ${dataDir}.`);
  if (!config.cacheDir.startsWith(`${dataDir}/`) && existsSync(config.cacheDir)) kept.push(`The cache ${config.cacheDir} is left.`);
  kept.push(`Packages of the system are left; set-up needed: ${NEEDED.map(({ name }) => name).join(" ")}.`);
  return kept;
}

/** Instances that have a network on this machine: each has a router. */
function serversIn(runFolder: string): string[] {
  if (!existsSync(runFolder)) return [];
  return readdirSync(runFolder).flatMap((name) => /^boxyard-([0-9a-f]{8})$/.exec(name)?.[1] ?? []);
}

function removeEmpty(folder: string): boolean {
  try {
    rmdirSync(folder);
    return true;
  } catch (error) {
    if (hasErrno(error, "ENOTEMPTY")) return false;
    throw error;
  }
}
