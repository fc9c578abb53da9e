/** 1 GiB, what promise 7 is about. */
export const GIB = 2 ** 30;

export const gibPerSecond = (ms: number) => `${(1000 / ms).toFixed(2)} GiB/s`;

/** The most memory a process has had so far, in MiB. */
export async function peakMemoryMiB(pid: number): Promise<number> {
  const status = await new Response(Bun.spawn(["cat", `/proc/${pid}/status`]).stdout).text();
  return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]) / 1024;
}

/** Runs curl, the fastest client there is, and returns the milliseconds that it took. */
export async function curl(args: readonly string[]): Promise<number> {
  const startedAt = performance.now();
  const child = Bun.spawn(["curl", "-sSf", "-o", "/dev/null", ...args], { stdin: "ignore", stdout: "ignore", stderr: "inherit" });
  if ((await child.exited) !== 0) throw new Error(`curl ${args.at(-1)} failed`);
  return performance.now() - startedAt;
}

export const fields = (headers: Readonly<Record<string, string>>) =>
  Object.entries(headers).flatMap(([name, value]) => ["-H", `${name}: ${value}`]);
