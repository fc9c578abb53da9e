import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runCommand } from "../sys/run.ts";
import type { Criu } from "./criu.ts";

const LIMIT_MS = 20_000;
const POLL_MS = 5;
const PID_FILE = "pid";
/** Lines of CRIU's log that the result quotes. */
const LOG_LINES = 3;
/**
 * Counts in memory. It has no child of its own, because the pid of an orphan is in use until the machine's init reaps it, and a restore needs the
 * same pids. Its limit of CPU time, which a checkpoint keeps, ends it when the process that runs this test is killed before the end.
 */
const PROGRAM = 'ulimit -t 10; n=0; while n=$((n+1)); do echo $n > "$1/count"; done';

/**
 * Writes a small real process to disk, ends it, restores it and checks that it goes on from where it was. Undefined when it does; otherwise a sentence
 * that says why not. Takes about 0.3 s; leaves nothing behind.
 */
export async function tryCriu(criu: Criu): Promise<string | undefined> {
  const work = mkdtempSync(join(tmpdir(), "boxyard-criu-"));
  const tree = Bun.spawn(["setsid", "sh", "-c", PROGRAM, "sh", work], { stdin: "ignore", stdout: "ignore", stderr: "ignore", cwd: "/" });
  let pid: number | undefined;
  try {
    await until(() => countIn(work) > 0);
    pid = tree.pid;
    await checkpoint(criu, work, pid);
    await tree.exited;
    pid = undefined;
    const before = countIn(work);
    pid = await restore(criu, work);
    await until(() => countIn(work) > before);
    return undefined;
  } catch (error) {
    return `${error instanceof Error ? error.message.split("\n")[0] : String(error)}${lastLines(work)}`;
  } finally {
    tree.kill("SIGKILL");
    await tree.exited;
    const left = pid ?? restoredIn(work);
    if (left !== undefined) await end(left);
    rmSync(work, { recursive: true, force: true });
  }
}

const COMMON = ["--shell-job", "--network-lock", "skip", "-v1"];

async function checkpoint(criu: Criu, work: string, pid: number): Promise<void> {
  const images = join(work, "images");
  mkdirSync(images);
  await runCriu(criu, ["dump", "--tree", String(pid), "--images-dir", images, "--log-file", join(work, "log"), ...COMMON]);
}

async function restore(criu: Criu, work: string): Promise<number> {
  const images = join(work, "images");
  const restored = ["--restore-detached", "--pidfile", join(work, PID_FILE)];
  await runCriu(criu, ["restore", "--images-dir", images, "--log-file", join(work, "log"), ...COMMON, ...restored]);
  return restoredIn(work) ?? Promise.reject(new Error("CRIU restored a process and did not write its pid"));
}

/** The pid of the restored process. A restore that failed or hung may have written it too, and its process lives then. */
function restoredIn(work: string): number | undefined {
  const path = join(work, PID_FILE);
  const pid = existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
  return pid > 0 ? pid : undefined;
}

async function runCriu({ file, args }: Criu, own: readonly string[]): Promise<void> {
  await runCommand([file, ...args, ...own], { name: `CRIU's ${own[0]}`, signal: AbortSignal.timeout(LIMIT_MS) });
}

function countIn(work: string): number {
  const path = join(work, "count");
  return existsSync(path) ? Number(readFileSync(path, "utf8")) : 0;
}

async function end(pid: number): Promise<void> {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
  await until(() => !isRunning(pid));
}

function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+[ZX]/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));
  } catch {
    return false;
  }
}

async function until(done: () => boolean): Promise<void> {
  const deadline = performance.now() + LIMIT_MS;
  while (!done()) {
    if (performance.now() > deadline) throw new Error("the restored processes do not go on");
    await Bun.sleep(POLL_MS);
  }
}

function lastLines(work: string): string {
  const path = join(work, "log");
  if (!existsSync(path)) return "";
  const lines = readFileSync(path, "utf8").trim().split("\n").slice(-LOG_LINES);
  return lines.length > 0 ? `: ${lines.join("; ")}` : "";
}
