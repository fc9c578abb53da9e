import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { ofProcess } from "../support/processes.ts";

interface Tracing {
  readonly pids: readonly number[];
  /** Options of strace that say what is written. */
  readonly options: readonly string[];
}

/** Does `work` while strace watches these processes, and returns what it has written. */
export async function traced({ pids, options }: Tracing, work: () => Promise<unknown>): Promise<string> {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-counts-"));
  try {
    const file = join(directory, "trace");
    const argv = ["strace", "-qq", "-o", file, ...options, ...pids.flatMap((pid) => ["-p", String(pid)])];
    const tracer = Bun.spawn(argv, { stdin: "ignore", stdout: "ignore", stderr: "pipe" });
    const areTraced = () => pids.every((pid) => tracerOf(pid) === tracer.pid);
    const state = await eventually("strace has them", () => (tracer.exitCode === null ? areTraced() && "traced" : "ended"));
    if (state === "ended") throw new Error(`strace ended: ${await new Response(tracer.stderr).text()}`);
    try {
      await work();
    } finally {
      tracer.kill("SIGINT");
      await tracer.exited;
    }
    return readFileSync(file, "utf8");
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

const tracerOf = (pid: number): number => Number(/^TracerPid:\s+(\d+)/m.exec(ofProcess(pid, "status"))?.[1]);

/** Calls of the kernel that the main threads of these processes make during `work`. */
export async function callsOf(pids: readonly number[], work: () => Promise<unknown>): Promise<number> {
  const summary = await traced({ pids, options: ["-c", "-U", "calls,name"] }, work);
  const total = /^\s*(\d+)\s+total$/m.exec(summary)?.[1];
  if (total === undefined) throw new Error(`no total in strace's summary:\n${summary}`);
  return Number(total);
}

/** Processes that these, and what they start, have started during `work`, and programs that were executed. Threads are no processes. */
export async function startedBy(pids: readonly number[], work: () => Promise<unknown>): Promise<{ processes: number; programs: number }> {
  const lines = await traced({ pids, options: ["-f", "-e", "trace=execve,execveat,clone,clone3,fork,vfork"] }, work);
  const done = wholeCalls(lines).filter((call) => / = \d+$/.test(call));
  return {
    processes: done.filter((call) => /^(clone3?|v?fork)\(/.test(call) && !call.includes("CLONE_THREAD")).length,
    programs: done.filter((call) => call.startsWith("execve")).length,
  };
}

/** Each call in one piece: strace cuts a call in two where another process calls meanwhile. Without the numbers of processes. */
function wholeCalls(lines: string): string[] {
  const begun = new Map<string, string>();
  return lines.split("\n").flatMap((line) => {
    const [, pid = "", text = ""] = /^(\d+) +(.*)$/.exec(line) ?? [];
    const first = /^(.*) <unfinished \.\.\.>$/.exec(text)?.[1];
    if (first !== undefined) begun.set(pid, first);
    const rest = /^<\.\.\. \w+ resumed>(.*)$/.exec(text)?.[1];
    if (rest !== undefined) return [`${begun.get(pid) ?? ""}${rest}`];
    return first === undefined ? [text] : [];
  });
}
