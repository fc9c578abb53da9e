import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** The directory of the libraries, and empty ones on which the driver mounts the files of a sandbox. */
const DIRECTORIES = ["lib", "cgroup/memory", "cgroup/cpuacct", "cgroup/cpu", "cgroup/pids", "host"];

/** Makes the directories of a guest bundle. */
export function makeGuestDirectories(target: string): void {
  for (const directory of DIRECTORIES) mkdirSync(join(target, directory), { recursive: true });
}

/** Lets all users read and execute a finished bundle, whatever the umask: users in a sandbox start its programs. */
export function openGuestToAll(target: string): void {
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) chmodSync(join(entry.parentPath, entry.name), 0o755);
  chmodSync(target, 0o755);
}
