import { AppError } from "@boxyard/core";
import { closeQuietly, makePipe } from "../sys/native.ts";

export interface LaunchOrder {
  readonly launchPath: string;
  /** Directory of the command's cgroup; undefined leaves it in the agent's. */
  readonly cgroup: string | undefined;
  readonly user: { readonly uid: number; readonly gid: number; readonly groups: readonly number[] };
  readonly cwd: string;
  readonly command: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Descriptors 0, 1 and 2 of the command. Null is /dev/null. They stay the caller's to close. */
  readonly stdio: readonly [number | null, number, number];
  /** The command leads a session whose terminal is descriptor 0. */
  readonly terminal: boolean;
}

export interface Launched {
  readonly pid: number;
  /** The raw wait status. When launch itself was killed, that of SIGKILL. */
  readonly ended: Promise<number>;
}

const KILLED = 9;
const EAGAIN = 11;
const EACCES = 13;
const ENOMEM = 12;

/** What launch could not do, as the caller of a process sees it. `cwd` failures are the request's, the rest is the sandbox's state. */
function refusal(step: string, errno: number, order: LaunchOrder): AppError {
  if (step === "cwd") {
    const why = errno === EACCES ? "permission denied" : "it cannot be entered";
    return new AppError("invalid_argument", `error starting process '${order.command.join(" ")}': cwd '${order.cwd}': ${why}`, {
      reason: "bad_cwd",
    });
  }
  if (step === "clone" && (errno === EAGAIN || errno === ENOMEM)) return processLimit();
  if (step === "tty") return new AppError("invalid_argument", "the sandbox has no terminal to give", { reason: "no_terminal" });
  return new AppError("internal", `the command could not be started: ${step} failed with errno ${errno}`, { reason: "launch_failed" });
}

export function processLimit(cause?: unknown): AppError {
  const message = "the sandbox has reached its limit of processes or memory; end some of them and try again";
  return new AppError("resource_exhausted", message, { reason: "process_limit", cause });
}

function spawnFailure(error: unknown): AppError {
  const { code } = error as { code?: string };
  if (code === "EAGAIN" || code === "ENOMEM") return processLimit(error);
  if (code === "E2BIG")
    return new AppError("invalid_argument", "the arguments and environment are too long", { reason: "too_long", cause: error });
  return new AppError("internal", "the command could not be started", { reason: "launch_failed", cause: error });
}

/** Starts a command through the guest bundle's `launch` (images/guest/launch.c) and resolves when it runs, or says why it can't. */
export async function launch(order: LaunchOrder): Promise<Launched> {
  const { uid, gid, groups } = order.user;
  const [stdin, stdout, stderr] = order.stdio;
  const control = makePipe("read");
  const flags = order.terminal ? ["-t"] : [];
  const ids = [String(uid), String(gid), groups.join(",") || "-"];
  try {
    const helper = Bun.spawn({
      cmd: [order.launchPath, ...flags, order.cgroup ?? "-", ...ids, order.cwd, ...order.command],
      stdio: [stdin, stdout, stderr, control.write],
      env: order.env as Record<string, string>,
      cwd: "/",
    });
    helper.unref();
  } catch (error) {
    closeQuietly(control.read);
    throw spawnFailure(error);
  } finally {
    closeQuietly(control.write);
  }
  return follow(control.read, order);
}

/** Reads launch's report: first line now, second line at the end of the command. */
async function follow(fd: number, order: LaunchOrder): Promise<Launched> {
  const lines = readLines(fd);
  const first = await lines.next();
  const text = first.done ? "" : first.value;
  if (!/^\d+$/.test(text)) {
    void lines.return(undefined);
    const [, step, errno] = /^!(\w+) (\d+)$/.exec(text) ?? [];
    throw step === undefined
      ? new AppError("internal", "the command could not be started: launch gave no answer")
      : refusal(step, Number(errno), order);
  }
  const ended = lines.next().then((second) => {
    void lines.return(undefined);
    return !second.done && /^\d+$/.test(second.value) ? Number(second.value) : KILLED;
  });
  return { pid: Number(text), ended };
}

async function* readLines(fd: number): AsyncGenerator<string, undefined> {
  const reader = Bun.file(fd).stream().getReader();
  const decoder = new TextDecoder();
  let text = "";
  try {
    for (;;) {
      for (let cut = text.indexOf("\n"); cut >= 0; cut = text.indexOf("\n")) {
        const line = text.slice(0, cut);
        text = text.slice(cut + 1);
        yield line;
      }
      const { done, value } = await reader.read();
      if (done) return;
      text += decoder.decode(value);
    }
  } finally {
    await reader.cancel();
    closeQuietly(fd);
  }
}
