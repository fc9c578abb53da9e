import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Of the libraries, and empty ones on which the driver mounts a sandbox's own facts. */
const DIRECTORIES = ["lib", "cgroup/memory", "cgroup/cpuacct", "cgroup/cpu", "cgroup/pids", "host"];

/** The directories of a guest bundle. */
export function makeGuestDirectories(target: string): void {
  for (const directory of DIRECTORIES) mkdirSync(join(target, directory), { recursive: true });
}

/** Opens a finished bundle to everybody, whatever the umask is: users in the sandbox start what is in it. */
export function openGuestToAll(target: string): void {
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) chmodSync(join(entry.parentPath, entry.name), 0o755);
  chmodSync(target, 0o755);
}
