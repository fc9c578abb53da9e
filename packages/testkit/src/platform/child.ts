import { AppError, systemClock } from "@boxyard/core";

/** Resolves with false when `exited` is not settled within `ms`. */
export async function endsWithin(exited: Promise<unknown>, ms: number): Promise<boolean> {
  const timer = new AbortController();
  const late = systemClock.sleep(ms, timer.signal).then(
    () => false,
    () => false,
  );
  const ended = await Promise.race([exited.then(() => true), late]);
  timer.abort();
  return ended;
}

export interface ProgramResult {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly ms: number;
}

export interface ProgramOptions {
  readonly env?: Readonly<Record<string, string | undefined>>;
  readonly cwd?: string;
  readonly stdin?: string;
  /** Milliseconds; 60 s by default. */
  readonly limitMs?: number;
}

/** Runs a program to its end and returns what it wrote. Throws `deadline_exceeded` with its output when it takes too long, having ended it. */
export async function runProgram(argv: readonly string[], options: ProgramOptions = {}): Promise<ProgramResult> {
  const limitMs = options.limitMs ?? 60_000;
  const startedAt = systemClock.monotonic();
  const child = Bun.spawn([...argv], {
    ...(options.cwd && { cwd: options.cwd }),
    ...(options.env && { env: options.env }),
    stdin: options.stdin === undefined ? "ignore" : new TextEncoder().encode(options.stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
  const output = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  if (!(await endsWithin(child.exited, limitMs))) {
    child.kill("SIGKILL");
    const [stdout, stderr] = await output;
    throw new AppError("deadline_exceeded", `${argv.join(" ")} did not end within ${limitMs} ms\n${stdout}${stderr}`);
  }
  const [stdout, stderr, exitCode] = await output;
  return { exitCode, stdout, stderr, ms: systemClock.monotonic() - startedAt };
}
