import { read as readCallback } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { BadTar } from "../tar/header.ts";

const read = promisify(readCallback);
const PIECE_BYTES = 1 << 20;
const OUT_BYTES = 256 * 1024;
const PROGRESS_BYTES = 4 << 20;
const STDIN = 0;

async function* standardInput(onProgress: (bytesRead: number) => void): AsyncGenerator<Buffer> {
  let total = 0;
  let told = 0;
  for (;;) {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await read(STDIN, buffer, 0, PIECE_BYTES, null);
    if (bytesRead === 0) break;
    total += bytesRead;
    yield buffer.subarray(0, bytesRead);
    if (total - told < PROGRESS_BYTES) continue;
    told = total;
    onProgress(total);
  }
  if (total > told) onProgress(total);
}

async function* chain(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Standard input without its compression: gzip and zstd are told by their first bytes. */
export async function* uncompressed(onProgress: (bytesRead: number) => void): AsyncGenerator<Buffer> {
  const input = standardInput(onProgress);
  let first: Buffer = Buffer.alloc(0);
  while (first.length < 4) {
    const { value, done } = await input.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  if (first.length === 0) throw new BadTar("it is empty");
  const all = chain(first, input);
  const decompress = decompressor(first);
  if (!decompress) return yield* all;
  const source = Readable.from(all, { objectMode: false, highWaterMark: PIECE_BYTES });
  source.on("error", (error) => decompress.destroy(error));
  yield* source.pipe(decompress) as AsyncIterable<Buffer>;
}

function decompressor(first: Buffer) {
  if (first[0] === 0x1f && first[1] === 0x8b) return createGunzip({ chunkSize: OUT_BYTES });
  if (first.length >= 4 && first.readUInt32LE() === 0xfd2fb528) return createZstdDecompress({ chunkSize: OUT_BYTES });
  return undefined;
}
