import { write, writev } from "node:fs";

/** Bytes that are gathered while the last write is under way, which bounds the memory of one upload. */
const GATHER_BYTES = 512 * 1024;

function writeOnce(fd: number, chunk: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => write(fd, chunk, 0, chunk.length, null, (error, n) => (error ? reject(error) : resolve(n))));
}

function writeGathered(fd: number, chunks: readonly Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => writev(fd, chunks, (error, n) => (error ? reject(error) : resolve(n))));
}

/** Writes all chunks, also when the kernel writes only a part of them, as it does just before a disk is full. */
async function writeAll(fd: number, chunks: readonly Uint8Array[]): Promise<void> {
  let done = await writeGathered(fd, chunks);
  for (const chunk of chunks) {
    let from = Math.min(done, chunk.length);
    done -= from;
    while (from < chunk.length) from += await writeOnce(fd, chunk.subarray(from));
  }
}

/** Writes chunks to a descriptor at its position, and receives the next ones while it writes. Throws the kernel's error. */
export async function writeChunks(fd: number, chunks: AsyncIterable<Uint8Array>): Promise<void> {
  let gathered: Uint8Array[] = [];
  let bytes = 0;
  let running: Promise<void> | undefined;
  try {
    for await (const chunk of chunks) {
      gathered.push(chunk);
      bytes += chunk.length;
      if (bytes < GATHER_BYTES) continue;
      await running;
      running = writeAll(fd, gathered);
      // The next await throws its error; until then the rejection must not count as unhandled.
      running.catch(() => {});
      gathered = [];
      bytes = 0;
    }
    await running;
    if (bytes > 0) await writeAll(fd, gathered);
  } catch (error) {
    // The caller closes the descriptor next, so the write that is under way must end first.
    await running?.catch(() => {});
    throw error;
  }
}
