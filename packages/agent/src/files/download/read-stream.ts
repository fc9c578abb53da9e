import { close, closeSync, constants, open, read, readSync } from "node:fs";
import { openForReading } from "../../sys/open-file.ts";
import { LIMITS } from "../limits.ts";
import type { ByteRange } from "./range.ts";

/** Reads up to `length` bytes from `position` on, synchronously; fewer where the file ends. For small pieces: no request is served meanwhile. */
export function readNow(fd: number, position: number, length: number): Uint8Array<ArrayBuffer> {
  const buffer = Buffer.allocUnsafeSlow(length);
  let done = 0;
  while (done < length) {
    const count = readSync(fd, buffer, done, length - done, position + done);
    if (count === 0) break;
    done += count;
  }
  return buffer.subarray(0, done);
}

/** Reads a small part of a file, synchronously. Throws the kernel's error, and another when the file has become shorter. */
export function readPart(path: string, range: ByteRange): Uint8Array<ArrayBuffer> {
  const length = range.end + 1 - range.start;
  const fd = openForReading(path);
  try {
    const bytes = readNow(fd, range.start, length);
    if (bytes.length < length) throw becameShorter();
    return bytes;
  } finally {
    closeSync(fd);
  }
}

const becameShorter = () => new Error("file became shorter while it was sent");

function openAsync(path: string): Promise<number> {
  // O_NONBLOCK: if the path has become a FIFO meanwhile, opening must not wait for a writer.
  return new Promise((resolve, reject) =>
    open(path, constants.O_RDONLY | constants.O_NONBLOCK, (error, fd) => (error ? reject(error) : resolve(fd))),
  );
}

function readSome(fd: number, into: Uint8Array, position: number | null): Promise<number> {
  return new Promise((resolve, reject) => read(fd, into, 0, into.length, position, (error, n) => (error ? reject(error) : resolve(n))));
}

/**
 * Yields the bytes of a file. With a range it yields exactly that many (a file that has become shorter is an error), without one everything up
 * to the end, also of files that report size 0 (`/proc`).
 */
export async function* readFile(path: string, range?: ByteRange): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const fd = await openAsync(path);
  try {
    let position = range?.start ?? 0;
    for (;;) {
      const left = range ? range.end + 1 - position : LIMITS.readBytes;
      if (left <= 0) return;
      const buffer = new Uint8Array(Math.min(left, LIMITS.readBytes));
      const count = await readSome(fd, buffer, range ? position : null);
      if (count === 0) {
        if (range) throw becameShorter();
        return;
      }
      position += count;
      yield buffer.subarray(0, count);
    }
  } finally {
    close(fd, () => {});
  }
}

/** A body from a generator, pulled chunk by chunk; ends the generator when the client leaves. */
export function streamOf(chunks: AsyncGenerator<Uint8Array<ArrayBuffer>>): ReadableStream<Uint8Array> {
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const next = await chunks.next();
        if (next.done) controller.close();
        else controller.enqueue(next.value);
      },
      async cancel() {
        await chunks.return(undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
