import { read as readCallback, write as writeCallback } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { AppError, executableBuild, PROGRAM } from "@boxyard/core";
import type { LayerSource } from "@boxyard/driver";
import { close, O, open, pipe } from "../../sys/libc.ts";
import type { Job, LayerJob, LeftOut, Message } from "./jobs.ts";
import { Lines } from "./lines.ts";

const read = promisify(readCallback);
const write = promisify(writeCallback);
const PIECE_BYTES = 1 << 20;

/** Path of the worker's program beside the server's. Defined by `tools/lib/bundles.ts`, and not in a checkout. */
declare const BOXYARD_LAYER_WORKER: string | undefined;

function workerProgram(): string {
  if (executableBuild !== undefined) return PROGRAM.layerWorker;
  return typeof BOXYARD_LAYER_WORKER === "undefined" ? join(import.meta.dir, "main.ts") : BOXYARD_LAYER_WORKER;
}

/** The command of a worker, in a checkout, in a bundle and in the executable. */
const workerCommand = (job: Job): string[] => [process.execPath, workerProgram(), JSON.stringify(job)];

export interface WorkerOptions {
  readonly signal: AbortSignal;
  /** The worker's standard input. */
  readonly source?: LayerSource;
  readonly onProgress?: (bytesRead: number) => void;
  readonly onLeftOut?: (leftOut: LeftOut) => void;
  /** Called when the worker has its own snapshot of the volume or tree. */
  readonly onCopied?: () => void;
}

/** Runs a job in its own process and resolves with the new layer's digest. The process has ended when this settles. */
export async function runWorker(job: LayerJob, options: WorkerOptions): Promise<string> {
  const result = await runToEnd(job, options);
  if (result.type === "done") return result.digest;
  throw died(`it said '${result.type}'`);
}

/** Unpacks the source into a volume. The process has ended when this settles. */
export async function runFill(job: Extract<Job, { kind: "importVolume" }>, options: WorkerOptions): Promise<LeftOut> {
  const result = await runToEnd(job, options);
  if (result.type === "filled") return result;
  throw died(`it said '${result.type}'`);
}

/** Resolves with a worker's last message, unless that says that it failed. */
async function runToEnd(job: Job, options: WorkerOptions): Promise<Exclude<Message, { type: "failed" }>> {
  const { signal, source } = options;
  signal.throwIfAborted();
  const input = openInput(source);
  let child: Bun.Subprocess<number | "ignore", "pipe", "pipe">;
  try {
    child = Bun.spawn(workerCommand(job), { stdin: input.read ?? "ignore", stdout: "pipe", stderr: "pipe", env: {} });
  } catch (error) {
    if (input.write !== undefined) close(input.write);
    throw error;
  } finally {
    if (input.read !== undefined) close(input.read);
  }
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  // When the worker ends, stop reading from the source, which may give nothing more and never end.
  const ended = new AbortController();
  void child.exited.then(() => ended.abort());
  const fed = AbortSignal.any([signal, ended.signal]);
  const feeding = source && "getReader" in source && input.write !== undefined ? feed(source, input.write, fed) : undefined;
  try {
    const [result, stderr] = await Promise.all([outcome(child.stdout, options), lastText(child.stderr), child.exited]);
    signal.throwIfAborted();
    const broken = await feeding;
    if (result && result.type !== "failed") return result;
    // A failure of the source is the cause of the worker's failure, which got only a part of the tar.
    if (broken) throw broken.cause;
    throw result?.type === "failed" ? failureError(result) : died(stderr);
  } finally {
    signal.removeEventListener("abort", kill);
    kill();
    await child.exited;
    await feeding;
  }
}

function openInput(source: LayerSource | undefined): { read?: number; write?: number } {
  if (!source) return {};
  return "path" in source ? { read: open(source.path, O.RDONLY) } : pipe();
}

/** Writes the stream to the worker, no faster than the worker reads. Resolves with the stream's failure, if it failed. */
async function feed(stream: ReadableStream<Uint8Array>, fd: number, signal: AbortSignal): Promise<{ cause: unknown } | undefined> {
  const reader = stream.getReader();
  const onAbort = () => void reader.cancel(signal.reason).catch(() => {});
  signal.addEventListener("abort", onAbort, { once: true });
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return undefined;
      for (let at = 0; at < value.length; ) at += (await write(fd, value, at, value.length - at, null)).bytesWritten;
    }
  } catch (cause) {
    const gone = (cause as { code?: unknown }).code === "EPIPE";
    void reader.cancel(cause).catch(() => {});
    // The worker has ended; its own message says why.
    return gone ? undefined : { cause };
  } finally {
    signal.removeEventListener("abort", onAbort);
    close(fd);
  }
}

async function outcome(stdout: ReadableStream<Uint8Array>, options: WorkerOptions): Promise<Message | undefined> {
  const lines = new Lines();
  let last: Message | undefined;
  for await (const bytes of stdout) {
    for (const line of lines.push(bytes)) {
      const message = JSON.parse(line) as Message;
      if (message.type === "progress") options.onProgress?.(message.bytesRead);
      else if (message.type === "leftOut") options.onLeftOut?.(message);
      else if (message.type === "copied") options.onCopied?.();
      else last = message;
    }
  }
  return last;
}

async function lastText(stream: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const bytes of stream) text = (text + decoder.decode(bytes, { stream: true })).slice(-2000);
  return text;
}

function failureError({ code, reason, message, details }: Extract<Message, { type: "failed" }>): AppError {
  return new AppError(code, message, { reason, details });
}

const died = (stderr: string) => new AppError("internal", `The layer worker ended early: ${stderr.trim()}`, { reason: "worker_died" });

/** The tar that an export job writes. Canceling the stream ends the worker; a failure of the worker is the stream's error. */
export function exportStream(job: Extract<Job, { kind: "export" | "exportVolume" }>, signal: AbortSignal): ReadableStream<Uint8Array> {
  // Our own pipe, read only on demand: a slow reader makes the worker wait instead of filling the server's memory.
  const tar = pipe();
  let child: Bun.Subprocess<"ignore", number, "pipe">;
  try {
    child = Bun.spawn(workerCommand(job), { stdin: "ignore", stdout: tar.write, stderr: "pipe", env: {} });
  } catch (error) {
    close(tar.read);
    throw error;
  } finally {
    close(tar.write);
  }
  const errors = lastText(child.stderr);
  const kill = () => child.kill("SIGKILL");
  signal.addEventListener("abort", kill, { once: true });
  let reading: Promise<{ bytesRead: number }> | undefined;
  let finished: Promise<void> | undefined;
  const finish = () => {
    finished ??= end();
    return finished;
  };
  const end = async () => {
    signal.removeEventListener("abort", kill);
    kill();
    await child.exited;
    // Once the descriptor is closed, its number may be another file: no read from it may be pending then.
    await reading?.catch(() => {});
    close(tar.read);
  };
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const buffer = new Uint8Array(PIECE_BYTES);
        reading = read(tar.read, buffer, 0, buffer.length, null);
        const { bytesRead } = await reading;
        if (finished) return;
        if (bytesRead > 0) return controller.enqueue(buffer.subarray(0, bytesRead));
        const code = await child.exited;
        const text = await errors;
        await finish();
        if (code === 0) return controller.close();
        controller.error(signal.aborted ? signal.reason : exportFailure(text));
      },
      cancel: finish,
    },
    { highWaterMark: 0 },
  );
}

function exportFailure(text: string): AppError {
  try {
    const message = JSON.parse(text.trim().split("\n").at(-1) ?? "") as Message;
    return message.type === "failed" ? failureError(message) : died(text);
  } catch {
    return died(text);
  }
}
