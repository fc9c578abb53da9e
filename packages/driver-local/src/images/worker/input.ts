import { syscall } from "../../sys/syscall.ts";
import { BadTar } from "../tar/header.ts";
import { Count } from "./count.ts";

const PIECE_BYTES = 1 << 20;
const STDIN = 0;

/** Each piece is valid until the next one is read, because they share one buffer. Reading blocks this process, which does nothing else. */
function* lentPieces(count: Count): Generator<Buffer> {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  for (let length = readInto(buffer); length > 0; length = readInto(buffer)) {
    count.add(length);
    yield buffer.subarray(0, length);
  }
  count.tell();
}

const readInto = (buffer: Buffer): number => syscall("read", [STDIN, buffer, buffer.length]);

/** The first bytes of standard input: at least 4, unless it ends before. */
function firstPiece(count: Count): Buffer {
  const buffer = Buffer.allocUnsafe(PIECE_BYTES);
  let length = 0;
  while (length < 4) {
    const got = readInto(buffer.subarray(length));
    if (got === 0) break;
    count.add(got);
    length += got;
  }
  return buffer.subarray(0, length);
}

/** Standard input, decompressed: gzip and zstd are recognised by their first bytes. A piece is valid until the next one is read. */
export async function* uncompressed(onProgress: (bytesRead: number) => void): AsyncGenerator<Buffer> {
  const count = new Count(onProgress);
  const first = firstPiece(count);
  if (first.length === 0) throw new BadTar("it is empty");
  const format = formatOf(first);
  if (format) return yield* (await import("./decompress.ts")).decompressed(format, first, count);
  yield first;
  yield* lentPieces(count);
}

function formatOf(first: Buffer): "gzip" | "zstd" | undefined {
  if (first[0] === 0x1f && first[1] === 0x8b) return "gzip";
  return first.length >= 4 && first.readUInt32LE() === 0xfd2fb528 ? "zstd" : undefined;
}
