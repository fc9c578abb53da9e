import { open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import type { CliContext } from "../context.ts";
import { writeAll } from "../cp/write-all.ts";
import { Progress } from "../output/progress.ts";

/** Writes a stream to a file, which is there when it is whole, or to standard output (`-`). */
export async function receive(stream: ReadableStream<Uint8Array>, target: string, what: string, context: CliContext): Promise<void> {
  if (target === "-") {
    for await (const piece of stream) await context.output.write(piece);
    return;
  }
  const progress = new Progress(context.output, what);
  const part = join(dirname(target), `.${basename(target)}.boxyard-${process.pid}`);
  const file = await open(part, "wx", 0o644);
  try {
    for await (const piece of stream) {
      context.signal.throwIfAborted();
      await writeAll(file, piece);
      progress.add(piece.length);
    }
    await file.close();
    await rename(part, target);
    progress.finish(what);
  } catch (error) {
    progress.clear();
    await file.close().catch(() => {});
    await rm(part, { force: true });
    throw error;
  }
}

/** A local file, or standard input (`-`), as a stream. */
export const localStream = (source: string): ReadableStream<Uint8Array> => (source === "-" ? Bun.stdin : Bun.file(source)).stream();
