import { write, writev } from "node:fs";

/** Bytes gathered while the last write is under way; the bound on memory for one upload. */
const GATHER_BYTES = 512 * 1024;

function writeOnce(fd: number, chunk: Uint8Array): Promise<number> {
  return new Promise((resolve, reject) => write(fd, chunk, 0, chunk.length, null, (error, n) => (error ? reject(error) : resolve(n))));
}

function writeGathered(fd: number, chunks: readonly Uint8Array[]): Promise<number> {
  return new Promise((resolve, reject) => writev(fd, chunks, (error, n) => (error ? reject(error) : resolve(n))));
}

/** Writes all of it, also when the kernel takes it in pieces, as it does just before a disk is full. */
async function writeAll(fd: number, chunks: readonly Uint8Array[]): Promise<void> {
  let done = await writeGathered(fd, chunks);
  for (const chunk of chunks) {
    let from = Math.min(done, chunk.length);
    done -= from;
    while (from < chunk.length) from += await writeOnce(fd, chunk.subarray(from));
  }
}

/** Writes chunks to a descriptor at its position, the next ones being received while the last are written. Throws the kernel's error. */
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
      // Seen at the next await at the latest; until then it must not count as unhandled.
      running.catch(() => {});
      gathered = [];
      bytes = 0;
    }
    await running;
    if (bytes > 0) await writeAll(fd, gathered);
  } catch (error) {
    // The descriptor is about to be closed: nothing may still write to its number.
    await running?.catch(() => {});
    throw error;
  }
}
