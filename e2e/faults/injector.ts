import { readFileSync } from "node:fs";
import { eventually } from "@boxyard/testkit";

/** What the kernel answers to some calls: an error, or nothing for a time. */
export interface KernelFault {
  /** Names of system calls, separated by commas. */
  readonly calls: string;
  readonly answer: { readonly error: string } | { readonly delayMs: number };
}

export const nameOf = ({ calls, answer }: KernelFault): string => `${calls}: ${"error" in answer ? answer.error : `${answer.delayMs} ms`}`;

/**
 * Does `work` while every such call of a process, its threads and the processes that it starts is answered by the fault instead of the kernel, by
 * strace's fault injection. Afterwards the process is as before.
 */
export async function withFault<T>(pid: number, { calls, answer }: KernelFault, work: () => Promise<T>): Promise<T> {
  const effect = "error" in answer ? `error=${answer.error}` : `delay_enter=${answer.delayMs * 1000}`;
  const argv = ["strace", "-f", "-qq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", `inject=${calls}:${effect}`, "-p", String(pid)];
  const tracer = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  try {
    await eventually("the fault is in place", () => {
      if (tracer.exitCode !== null) throw new Error(`strace ended with exit code ${tracer.exitCode}`);
      return tracerOf(pid) === tracer.pid;
    });
    return await work();
  } finally {
    tracer.kill("SIGINT");
    await tracer.exited;
    await eventually("the fault is gone", () => tracerOf(pid) === 0);
  }
}

const tracerOf = (pid: number): number => Number(/^TracerPid:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
