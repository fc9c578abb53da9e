import { readdirSync, readFileSync } from "node:fs";

/** CPU time of this process so far, in milliseconds. */
export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

/** CPU time of the living threads of a process so far, in milliseconds; 0 when it has ended. */
export function processCpuMs(pid: number | string): number {
  try {
    const tasks = readdirSync(`/proc/${pid}/task`);
    const nanoseconds = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]));
    return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
  } catch {
    return 0;
  }
}

/** Pids of the processes in a cgroup and in all below it; none when it was removed. */
export function pidsBelow(cgroup: string): string[] {
  try {
    const own = readFileSync(`${cgroup}/cgroup.procs`, "utf8").split("\n").filter(Boolean);
    const below = readdirSync(cgroup, { withFileTypes: true }).filter((entry) => entry.isDirectory());
    return [...own, ...below.flatMap(({ name }) => pidsBelow(`${cgroup}/${name}`))];
  } catch {
    return [];
  }
}
