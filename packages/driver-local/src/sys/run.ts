import { AppError } from "@boxyard/core";
import type { FileLock } from "@boxyard/core/file-lock";

export interface RunOptions {
  readonly cwd?: string;
  /** The whole environment of the command; default: the environment of this process. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Called with every line of output as it comes. */
  readonly onLine?: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  /** What ends the command when `signal` is aborted; default SIGTERM. */
  readonly killSignal?: "SIGKILL";
  /** A lock that the command inherits: it stays held until the command has ended, also when this process is killed. */
  readonly lock?: FileLock | undefined;
  /** Name of the command in errors; default: its first three words. */
  readonly name?: string;
  /** What the user can do when it fails; follows the error as a sentence. */
  readonly fix?: string;
}

/** How much of a command's output is kept for its result and its error. */
const KEEP_BYTES = 1 << 20;
const TAIL_LINES = 15;

/**
 * Runs a program of the machine to its end and returns its standard output and error together, the last MiB. Not for the hot path. A missing
 * program or a status other than 0 is `failed_precondition`, reason `command_failed`, with the last lines of its output.
 */
export async function runCommand(argv: readonly [string, ...string[]], options: RunOptions = {}): Promise<string> {
  const name = argv[0];
  let child: Bun.Subprocess<"ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn([findProgram(name) ?? name, ...argv.slice(1)], {
      stdio: ["ignore", "pipe", "pipe", ...(options.lock ? [options.lock.fd] : [])],
      ...(options.cwd !== undefined && { cwd: options.cwd }),
      ...(options.env && { env: options.env }),
      ...(options.signal && { signal: options.signal }),
      ...(options.killSignal && { killSignal: options.killSignal }),
    });
  } catch (cause) {
    throw commandError(`cannot start ${name}: ${cause instanceof Error ? cause.message : String(cause)}`, "", options.fix, cause);
  }
  const kept = new Kept(options.onLine);
  await Promise.all([kept.read(child.stdout), kept.read(child.stderr)]);
  const status = await child.exited;
  options.signal?.throwIfAborted();
  if (status === 0) return kept.text;
  const how = child.signalCode ? `was ended by ${child.signalCode}` : `failed with status ${status}`;
  throw commandError(`${options.name ?? [name, ...argv.slice(1, 3)].join(" ")} ${how}`, kept.text, options.fix);
}

function commandError(what: string, output: string, fix: string | undefined, cause?: unknown): AppError {
  const tail = output.trimEnd().split("\n").slice(-TAIL_LINES).join("\n  ");
  const message = [what, ...(fix ? [`. ${fix}`] : []), ...(tail ? [`\n  ${tail}`] : [])].join("");
  return new AppError("failed_precondition", message, { reason: "command_failed", details: { output: tail }, cause });
}

/** Collects the last part of the text of two streams, in the order of arrival. */
class Kept {
  text = "";
  private readonly onLine: (line: string) => void;

  constructor(onLine: (line: string) => void = () => {}) {
    this.onLine = onLine;
  }

  async read(stream: ReadableStream<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for await (const chunk of stream) {
      const text = decoder.decode(chunk, { stream: true });
      this.text = (this.text + text).slice(-KEEP_BYTES);
      const lines = (rest + text).split("\n");
      rest = (lines.pop() ?? "").slice(-KEEP_BYTES);
      for (const line of lines) this.onLine(line);
    }
    if (rest) this.onLine(rest);
  }
}

const SYSTEM_DIRECTORIES = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Path of a program; also looked for in the administrator's directories, which a user's PATH may lack. */
export function findProgram(name: string): string | undefined {
  return Bun.which(name) ?? Bun.which(name, { PATH: SYSTEM_DIRECTORIES }) ?? undefined;
}
