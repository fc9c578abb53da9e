import { mkdirSync } from "node:fs";
import { join } from "node:path";

/** Of the libraries, and empty ones on which the driver mounts a sandbox's own facts. */
const FOLDERS = ["lib", "cgroup/memory", "cgroup/cpuacct", "cgroup/cpu", "cgroup/pids", "host"];

/** The folders of a guest bundle. */
export function makeGuestFolders(target: string): void {
  for (const folder of FOLDERS) mkdirSync(join(target, folder), { recursive: true });
}
