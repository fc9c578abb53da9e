import { readFileSync } from "node:fs";
import { eventually } from "@boxyard/testkit";

/** What the kernel answers to some calls: an error, or nothing for a time; or a signal that comes with the answer. */
export interface KernelFault {
  /** Names of system calls, separated by commas. */
  readonly calls: string;
  readonly answer: { readonly error: string } | { readonly delayMs: number } | { readonly signal: string };
}

export const nameOf = ({ calls, answer }: KernelFault): string => {
  const what = "error" in answer ? answer.error : "signal" in answer ? answer.signal : `${answer.delayMs} ms`;
  return `${calls}: ${what}`;
};

function effectOf(answer: KernelFault["answer"]): string {
  if ("error" in answer) return `error=${answer.error}`;
  return "signal" in answer ? `signal=${answer.signal}` : `delay_enter=${answer.delayMs * 1000}`;
}

/**
 * Does `work` while every such call of these processes, their threads and the processes that they start is answered by the fault instead of the kernel, by
 * strace's fault injection. Afterwards they are as before.
 */
export async function withFault<T>(of: number | readonly number[], { calls, answer }: KernelFault, work: () => Promise<T>): Promise<T> {
  const pids = typeof of === "number" ? [of] : of;
  const effect = effectOf(answer);
  const argv = [
    "strace",
    "-f",
    "-qq",
    "-o",
    "/dev/null",
    "-e",
    `trace=${calls}`,
    "-e",
    `inject=${calls}:${effect}`,
    ...pids.flatMap((pid) => ["-p", String(pid)]),
  ];
  const tracer = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  try {
    await eventually("the fault is in place", () => {
      if (tracer.exitCode !== null) throw new Error(`strace ended with exit code ${tracer.exitCode}`);
      return pids.every((pid) => tracerOf(pid) === tracer.pid);
    });
    return await work();
  } finally {
    tracer.kill("SIGINT");
    await tracer.exited;
    await eventually("the fault is gone", () => pids.every((pid) => tracerOf(pid) === 0));
  }
}

/** 0: nobody traces it, or it has ended. */
function tracerOf(pid: number): number {
  try {
    return Number(/^TracerPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return 0;
  }
}
