import { chmodSync, mkdirSync, readdirSync } from "node:fs";
import { join } from "node:path";

/** Of the libraries, and empty ones on which the driver mounts a sandbox's own facts. */
const FOLDERS = ["lib", "cgroup/memory", "cgroup/cpuacct", "cgroup/cpu", "cgroup/pids", "host"];

/** The folders of a guest bundle. */
export function makeGuestFolders(target: string): void {
  for (const folder of FOLDERS) mkdirSync(join(target, folder), { recursive: true });
}

/** Opens a finished bundle to everybody, whatever the umask is: users in the sandbox start what is in it. */
export function openGuestToAll(target: string): void {
  for (const entry of readdirSync(target, { recursive: true, withFileTypes: true })) chmodSync(join(entry.parentPath, entry.name), 0o755);
  chmodSync(target, 0o755);
}
