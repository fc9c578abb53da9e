import { existsSync, readFileSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { ChildProgram, type ForkServer } from "../sys/fork-server/index.ts";
import { close, O, pipe, syscall, trySyscall } from "../sys/libc.ts";
import type { Criu } from "./criu.ts";
import { markOf, newRun, signalRun } from "./processes.ts";
import { sentenceFor } from "./sentences.ts";

const POLL_MS = 1;
const LONGEST_POLL_MS = 3;
/** Lines of CRIU's log that an error quotes. */
const LOG_LINES = 4;
/** Texts in CRIU's log for a full disk. */
const FULL = ["No space left on device", "Disk quota exceeded"];
/** Time for a CRIU that gets no more answers to undo what it did. */
const LAST_CHANCE_MS = 5_000;
const PATH = "/usr/sbin:/usr/bin:/sbin:/bin";

/** Moments of CRIU's work at which it runs its script and waits for the server's answer. */
export type CriuMoment = "network-lock" | "post-dump" | "post-setup-namespaces" | "post-restore" | "pre-resume";

export interface CriuRun {
  readonly criu: Criu;
  readonly forkServer: ForkServer;
  /** Name of the server's cgroups; marks CRIU's processes, so that a later server finds those that are left. */
  readonly server: string;
  /** Path of the file with `MOMENT_SCRIPT`. */
  readonly script: string;
  readonly args: readonly string[];
  /** The moments at which CRIU is to ask. */
  readonly moments: readonly CriuMoment[];
  readonly log: string;
  /** Adds calls (mounts and the like) that are made before CRIU is started. */
  prepare?(program: ChildProgram): void;
  /** Called at a moment. `pid` is the sandbox's init in the machine's process namespace. When it throws, CRIU gives up and undoes what it did. */
  at(moment: CriuMoment, pid: number): Promise<void>;
  /** Longest time for the whole run, in milliseconds. */
  readonly limitMs: number;
  /** Called when CRIU hangs: thaws what CRIU may be waiting for. */
  onHang?(): void;
  /** Names the run in errors and their reasons. */
  readonly verb: "checkpoint" | "restore";
}

/**
 * The script that CRIU runs at each of its moments: it writes a question to one pipe and waits for the answer in another. CRIU closes descriptors that
 * its scripts would inherit, so the script opens the pipes through /proc/<pid of the server>/fd. When the server has ended, that fails, CRIU gives up,
 * and the sandbox runs on.
 */
export const MOMENT_SCRIPT = `#!/bin/sh
case " $BOXYARD_MOMENTS " in *" $CRTOOLS_SCRIPT_ACTION "*) ;; *) exit 0 ;; esac
echo "$CRTOOLS_SCRIPT_ACTION \${CRTOOLS_INIT_PID:-0}" >"$BOXYARD_QUESTIONS" || exit 1
read -r answer <"$BOXYARD_ANSWERS" && [ "$answer" = ok ]
`;

/**
 * Runs CRIU to its end. CRIU has a session of its own, so that it does not end with the server: when CRIU is killed while it has seized a sandbox's
 * processes, these may be broken. Failures are `internal`, reason `checkpoint_failed` or `restore_failed`, with the end of CRIU's log in their details;
 * `resource_exhausted`, with the same reasons, for a full disk; `failed_precondition`, reason `checkpoint_refused`, for what a sandbox holds that
 * cannot be kept; `deadline_exceeded` for a CRIU that hung. After a failure no process that CRIU has started is left.
 */
export async function runCriu(run: CriuRun): Promise<void> {
  const name = newRun(run.server);
  const program = new ChildProgram();
  program.call("setsid", []);
  program.call("umask", [0o022]);
  run.prepare?.(program);
  const answers = pipe();
  const questions = pipe(O.NONBLOCK);
  program.execute(run.criu.file, [...run.criu.args, ...run.args, "--action-script", run.script, "--log-file", run.log], {
    PATH,
    BOXYARD_MOMENTS: run.moments.join(" "),
    BOXYARD_QUESTIONS: `/proc/${process.pid}/fd/${questions.write}`,
    BOXYARD_ANSWERS: `/proc/${process.pid}/fd/${answers.read}`,
    ...markOf(name),
  });
  const moments = new Moments(run, questions.read, answers.write);
  let isDone = false;
  try {
    let kill = () => {};
    const onStarted = (child: { kill(): void }) => {
      kill = child.kill;
    };
    const ended = run.forkServer.run(program, { onStarted });
    moments.listen();
    const isLate = !(await isOver(ended, run.limitMs));
    if (isLate && !(await endsGently(run, name, moments, ended))) {
      // First CRIU itself, which has no mark in its environment while `prepare` makes its mounts; then its children.
      kill();
      signalRun(name, "SIGKILL");
    }
    const code = await ended;
    await moments.end();
    if (isLate) throw late(run);
    if (code !== 0) throw failed(run, code);
    isDone = true;
  } finally {
    // Before the descriptors are closed: no loop here and no process that CRIU left may use their numbers after that.
    await moments.stop();
    if (!isDone) signalRun(name, "SIGKILL");
    for (const fd of [answers.read, questions.read, questions.write]) close(fd);
    moments.hangUp();
  }
}

/**
 * A CRIU that hangs may wait for a frozen process, or may be stopped by a signal: both are lifted, and it gets time to undo what it did. True when it
 * has ended then. Otherwise it has to be killed, which ends its tracing, so that the sandbox's processes run again, but may leave them broken.
 */
async function endsGently(run: CriuRun, name: string, moments: Moments, ended: Promise<number>): Promise<boolean> {
  run.onHang?.();
  moments.hangUp();
  signalRun(name, "SIGCONT");
  return isOver(ended, LAST_CHANCE_MS);
}

const late = ({ verb, limitMs }: CriuRun) =>
  new AppError("deadline_exceeded", `CRIU could not ${verb} the sandbox within ${Math.round(limitMs)} ms`, { reason: `${verb}_failed` });

/** True when `ended` settles in time, false after `ms`. */
function isOver(ended: Promise<number>, ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>();
  const timer = setTimeout(() => resolve(false), ms);
  const over = () => {
    clearTimeout(timer);
    resolve(true);
  };
  ended.then(over, over);
  return promise;
}

/** The server's side of the two pipes: reads CRIU's questions and answers them. */
class Moments {
  private readonly run: CriuRun;
  private readonly questions: number;
  private answers: number | undefined;
  private readonly buffer = new Uint8Array(4_096);
  private text = "";
  private ended = false;
  private talk: Promise<void> = Promise.resolve();
  private failure: unknown;

  constructor(run: CriuRun, questions: number, answers: number) {
    this.run = run;
    this.questions = questions;
    this.answers = answers;
  }

  listen(): void {
    this.talk = this.answerAll().catch((error: unknown) => {
      this.failure = error;
      // CRIU then gets no answer, and gives up.
      this.hangUp();
    });
  }

  /** To be called after CRIU's end. Throws the error of `at`, if it had one. */
  async end(): Promise<void> {
    await this.stop();
    if (this.failure !== undefined) throw this.failure;
  }

  /** Resolves when no question is read any more. Repeatable. */
  stop(): Promise<void> {
    this.ended = true;
    return this.talk;
  }

  /** Closes the pipe of answers: CRIU gives up at its next question. Repeatable. */
  hangUp(): void {
    if (this.answers !== undefined) close(this.answers);
    this.answers = undefined;
  }

  private async answerAll(): Promise<void> {
    for (let pause = POLL_MS; ; pause = Math.min(pause * 1.1, LONGEST_POLL_MS)) {
      const line = this.nextLine();
      if (line !== undefined) {
        await this.answer(line);
        pause = POLL_MS;
      } else if (this.ended) return;
      else await Bun.sleep(pause);
    }
  }

  private async answer(line: string): Promise<void> {
    const match = /^(\S+) (\d+)$/.exec(line);
    if (!match || !this.run.moments.includes(match[1] as CriuMoment))
      throw new AppError("internal", `CRIU asked '${line}'`, { reason: "criu_question" });
    await this.run.at(match[1] as CriuMoment, Number(match[2]));
    const word = new TextEncoder().encode("ok\n");
    if (this.answers !== undefined) syscall("write", [this.answers, word, word.byteLength], "CRIU");
  }

  /** Called every few milliseconds, so it allocates nothing while there is no question. */
  private nextLine(): string | undefined {
    const { buffer } = this;
    const length = trySyscall("read", this.questions, buffer, buffer.byteLength);
    if (length > 0) this.text += new TextDecoder().decode(buffer.subarray(0, length));
    const end = this.text.indexOf("\n");
    if (end < 0) return undefined;
    const line = this.text.slice(0, end);
    this.text = this.text.slice(end + 1);
    return line;
  }
}

function failed({ verb, log }: CriuRun, code: number): AppError {
  const text = existsSync(log) ? readFileSync(log, "utf8") : "";
  const errors = text.split("\n").filter((line) => line.includes("Error") && !line.includes("RLIMIT_NOFILE"));
  const lines = errors.slice(-LOG_LINES);
  const why = lines.length > 0 ? lines.join("; ") : "its log has no errors";
  const refusal = sentenceFor(verb, errors);
  if (refusal !== undefined) return new AppError("failed_precondition", refusal, { reason: `${verb}_refused`, details: { said: why } });
  // CRIU reports a full disk in its log only, followed by errors that result from it.
  const isFull = FULL.some((said) => errors.some((line) => line.includes(said)));
  const message = isFull ? "the disk is full" : "the server's log says why";
  // CRIU's own lines name processes and files of the machine, which are for the operator alone.
  return new AppError(isFull ? "resource_exhausted" : "internal", `CRIU could not ${verb} the sandbox (exit code ${code}): ${message}`, {
    reason: `${verb}_failed`,
    details: { said: why },
  });
}

/** Much slower than any disk that a sandbox's memory should be on. */
const BYTES_PER_MS = 40_000;

/** How long a run may take, in milliseconds, that writes or reads at most `memoryBytes`. */
export const limitFor = (baseMs: number, memoryBytes: number): number => baseMs + memoryBytes / BYTES_PER_MS;
