import { read as readCallback, readSync } from "node:fs";
import { Readable } from "node:stream";
import { promisify } from "node:util";
import { createGunzip, createZstdDecompress } from "node:zlib";
import { BadTar } from "../tar/header.ts";

const read = promisify(readCallback);
const PIECE_BYTES = 1 << 20;
const OUT_BYTES = 256 * 1024;
const PROGRESS_BYTES = 4 << 20;
const STDIN = 0;

/** Counts the bytes that were read, and reports the count every few MiB. */
class Count {
  private total = 0;
  private told = 0;
  private readonly onProgress: (bytesRead: number) => void;

  constructor(onProgress: (bytesRead: number) => void) {
    this.onProgress = onProgress;
  }

  add(bytes: number): void {
    this.total += bytes;
    if (this.total - this.told >= PROGRESS_BYTES) this.tell();
  }

  tell(): void {
    if (this.total > this.told) this.onProgress(this.total);
    this.told = this.total;
  }
}

async function* freshPieces(count: Count): AsyncGenerator<Buffer> {
  for (;;) {
    const buffer = Buffer.allocUnsafe(PIECE_BYTES);
    const { bytesRead } = await read(STDIN, buffer, 0, PIECE_BYTES, null);
    if (bytesRead === 0) break;
    count.add(bytesRead);
    yield buffer.subarray(0, bytesRead);
  }
  count.tell();
}

/** Each piece is valid until the next one is read, because they share one buffer. Reading blocks this process, which does nothing else. */
function* lentPieces(count: Count): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (let length = readSync(STDIN, buffer); length > 0; length = readSync(STDIN, buffer)) {
    count.add(length);
    yield buffer.subarray(0, length);
  }
  count.tell();
}

async function* chain(first: Buffer, rest: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  yield first;
  yield* rest;
}

/** Standard input, decompressed: gzip and zstd are recognised by their first bytes. A piece is valid until the next one is read. */
export async function* uncompressed(onProgress: (bytesRead: number) => void): AsyncGenerator<Buffer> {
  const count = new Count(onProgress);
  const input = freshPieces(count);
  let first: Buffer = Buffer.alloc(0);
  while (first.length < 4) {
    const { value, done } = await input.next();
    if (done) break;
    first = Buffer.concat([first, value]);
  }
  if (first.length === 0) throw new BadTar("it is empty");
  const decompress = decompressor(first);
  if (!decompress) {
    yield first;
    return yield* lentPieces(count);
  }
  const source = Readable.from(chain(first, input), { objectMode: false, highWaterMark: PIECE_BYTES });
  source.on("error", (error) => decompress.destroy(error));
  yield* source.pipe(decompress) as AsyncIterable<Buffer>;
}

function decompressor(first: Buffer) {
  if (first[0] === 0x1f && first[1] === 0x8b) return createGunzip({ chunkSize: OUT_BYTES });
  if (first.length >= 4 && first.readUInt32LE() === 0xfd2fb528) return createZstdDecompress({ chunkSize: OUT_BYTES });
  return undefined;
}
