import { read as readCallback } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { createGunzip, createZstdDecompress } from "node:zlib";
import type { Count } from "./count.ts";

const read = promisify(readCallback);
const PIECE_BYTES = 1 << 20;
const OUT_BYTES = 256 * 1024;
const STDIN = 0;

/** Pieces of standard input after `first`, each in a buffer of its own. */
async function* pieces(first: Buffer, count: Count): AsyncGenerator<Buffer> {
  yield first;
  for (;;) {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await read(STDIN, buffer, 0, PIECE_BYTES, null);
    if (bytesRead === 0) break;
    count.add(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
  count.tell();
}

/** What `first` and the rest of standard input are without their compression. */
export function decompressed(format: "gzip" | "zstd", first: Buffer, count: Count): AsyncIterable<Buffer> {
  const options = { chunkSize: OUT_BYTES };
  const decompress = format === "gzip" ? createGunzip(options) : createZstdDecompress(options);
  const source = Readable.from(pieces(first, count), { objectMode: false, highWaterMark: PIECE_BYTES });
  source.on("error", (error) => decompress.destroy(error));
  return source.pipe(decompress) as AsyncIterable<Buffer>;
}
