import { eventually } from "@boxyard/testkit";
import { ofProcess } from "../support/processes.ts";

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
 * Does `work` while strace's fault injection answers every such call of these processes, their threads and the processes that they start. Afterwards the
 * kernel answers again. `of` as a function: lists the processes at the moment when the fault is put in place; some of them may end.
 */
export async function withFault<T>(of: number | (() => readonly number[]), fault: KernelFault, work: () => Promise<T>): Promise<T> {
  const list = typeof of === "number" ? () => [of] : of;
  // A process that is started after the list and before strace has its parent has no tracer: then the injection starts again.
  const { tracer, pids } = await eventually("the fault is in place", () => putInPlace(list, fault), { withinMs: 30_000 });
  try {
    return await work();
  } finally {
    await takeAway(tracer, pids);
  }
}

async function putInPlace(
  list: () => readonly number[],
  { calls, answer }: KernelFault,
): Promise<{ tracer: Bun.Subprocess; pids: readonly number[] } | undefined> {
  const pids = list();
  const options = ["-f", "-qq", "-o", "/dev/null", "-e", `trace=${calls}`, "-e", `inject=${calls}:${effectOf(answer)}`];
  const argv = ["strace", ...options, ...pids.flatMap((pid) => ["-p", String(pid)])];
  const tracer = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "ignore" });
  const areTraced = (all: readonly number[]) => all.every((pid) => [tracer.pid, undefined].includes(tracerOf(pid)));
  const hasBegun = () => tracer.exitCode === null && pids.some((pid) => tracerOf(pid) === tracer.pid) && areTraced(pids);
  const isInPlace = await eventually("strace has them", () => tracer.exitCode !== null || hasBegun()).then(hasBegun, () => false);
  if (isInPlace && areTraced(list())) return { tracer, pids };
  await takeAway(tracer, pids);
  if (!isInPlace) throw new Error(`strace ended with exit code ${tracer.exitCode}`);
  return undefined;
}

async function takeAway(tracer: Bun.Subprocess, pids: readonly number[]): Promise<void> {
  tracer.kill("SIGINT");
  await tracer.exited;
  await eventually("the fault is gone", () => pids.every((pid) => !tracerOf(pid)));
}

/** 0: nobody traces it; undefined: it has ended. */
function tracerOf(pid: number): number | undefined {
  const status = ofProcess(pid, "status");
  return /^State:\s+[ZX]/m.test(status) || status === "" ? undefined : Number(/^TracerPid:\s+(\d+)/m.exec(status)?.[1]);
}
