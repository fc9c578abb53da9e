import { AppError } from "@boxyard/core";

/** What a command prints: results on standard output, everything else on standard error. */
export class Output {
  readonly color: boolean;
  /** True: no notes beside the results. Errors are printed anyway. */
  quiet = false;
  private broken = false;
  private onBroken: (() => void) | undefined;

  constructor(color: boolean) {
    this.color = color;
    // The reader of our output may leave (`| head`): the next write then says so.
    process.stdout.on("error", () => this.markBroken());
    process.stderr.on("error", () => {});
  }

  /** Called once when nobody reads standard output any more. */
  whenBroken(callback: () => void): void {
    if (this.broken) callback();
    else this.onBroken = callback;
  }

  /** Resolves when the bytes have been handed to the reader: this is the backpressure. Fails with reason `broken_pipe`. */
  async write(data: string | Uint8Array): Promise<void> {
    if (this.broken) throw brokenPipe();
    await writeTo(process.stdout, data).catch((cause) => {
      this.markBroken();
      throw brokenPipe(cause);
    });
  }

  line(text = ""): Promise<void> {
    return this.write(`${text}\n`);
  }

  /** Pretty on a terminal, one line elsewhere. */
  json(value: unknown): Promise<void> {
    return this.line(JSON.stringify(value, null, process.stdout.isTTY ? 2 : undefined));
  }

  /** Bytes of a remote command's standard error. */
  async writeError(data: string | Uint8Array): Promise<void> {
    await writeTo(process.stderr, data).catch(() => {});
  }

  /** A sentence for the person, beside the results. */
  note(text: string): void {
    if (!this.quiet) process.stderr.write(`${text}\n`);
  }

  /** Why the program fails. */
  error(text: string): void {
    process.stderr.write(`${text}\n`);
  }

  bold(text: string): string {
    return this.color ? `\x1b[1m${text}\x1b[22m` : text;
  }

  dim(text: string): string {
    return this.color ? `\x1b[2m${text}\x1b[22m` : text;
  }

  red(text: string): string {
    return this.color ? `\x1b[31m${text}\x1b[39m` : text;
  }

  private markBroken(): void {
    if (this.broken) return;
    this.broken = true;
    this.onBroken?.();
  }
}

function writeTo(stream: NodeJS.WriteStream, data: string | Uint8Array): Promise<void> {
  return new Promise((resolve, reject) => {
    stream.write(data, (error) => (error ? reject(error) : resolve()));
  });
}

function brokenPipe(cause?: unknown): AppError {
  return new AppError("canceled", "nobody reads the output any more", { reason: "broken_pipe", cause });
}
