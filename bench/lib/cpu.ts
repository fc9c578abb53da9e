import { readdirSync, readFileSync } from "node:fs";

/** Milliseconds of one tick of `/proc/stat` (USER_HZ is 100 on every Linux that Bun runs on). */
const TICK_MS = 10;

/** CPU time that the whole machine has used since it booted, in milliseconds: all of it but idle and waiting. */
export function machineCpuMs(): number {
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0] = (readFileSync("/proc/stat", "utf8").split("\n")[0] ?? "")
    .split(/\s+/)
    .slice(1)
    .map(Number);
  return (user + nice + system + irq + softirq) * TICK_MS;
}

/** CPU time that a process has used, all its threads together, in microseconds. */
export function processCpuUs(pid: number): number {
  const tasks = `/proc/${pid}/task`;
  const used = readdirSync(tasks).map((task) => Number(readFileSync(`${tasks}/${task}/schedstat`, "utf8").split(" ")[0]));
  return used.reduce((sum, ns) => sum + ns, 0) / 1000;
}
