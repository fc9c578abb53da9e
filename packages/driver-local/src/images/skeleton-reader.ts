import { read as readCallback } from "node:fs";
import { promisify } from "node:util";
import { RAW } from "./skeleton-writer.ts";

export type SkeletonRecord = { readonly raw: Buffer } | { readonly path: string; readonly size: number; readonly index: number };

const read = promisify(readCallback);

async function readExactly(fd: number, length: number): Promise<Buffer | undefined> {
  const buffer = Buffer.alloc(length);
  for (let at = 0; at < length; ) {
    const { bytesRead } = await read(fd, buffer, at, length - at, null);
    if (bytesRead === 0 && at === 0) return undefined;
    if (bytesRead === 0) throw new Error("the layer's skeleton is cut off");
    at += bytesRead;
  }
  return buffer;
}

/** The records of a skeleton that `SkeletonWriter` wrote, in their order. */
export async function* readSkeleton(fd: number): AsyncGenerator<SkeletonRecord> {
  let index = 0;
  for (;;) {
    const length = await readExactly(fd, 4);
    if (!length) return;
    const packed = await readExactly(fd, length.readUInt32LE());
    if (!packed) throw new Error("the layer's skeleton is cut off");
    const block = Buffer.from(Bun.zstdDecompressSync(packed as Buffer<ArrayBuffer>));
    for (let at = 0; at < block.length; ) {
      const bytes = block.subarray(at + 5, at + 5 + block.readUInt32LE(at + 1));
      if (block[at] === RAW) yield { raw: bytes };
      else yield { size: Number(bytes.readBigUInt64LE()), path: bytes.toString("latin1", 8), index: index++ };
      at += 5 + bytes.length;
    }
  }
}
