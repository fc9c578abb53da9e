import { writeAll } from "../sys/at.ts";

/**
 * A layer's tar without the contents of its files, which the layer's tree has: enough to restore the tar byte for byte. There are two kinds of
 * records: `0`, length, bytes of the tar; and `1`, length, size, path (the content is the first `size` bytes of that file). They are in blocks
 * compressed with zstd, each after its length in 4 bytes.
 */

export const RAW = 0;
const CONTENT = 1;
const BLOCK_BYTES = 256 * 1024;

export class SkeletonWriter {
  private readonly fd: number;
  private readonly block = Buffer.alloc(BLOCK_BYTES);
  private used = 0;
  /** Contents recorded so far. */
  contents = 0;

  constructor(fd: number) {
    this.fd = fd;
  }

  raw(bytes: Buffer): void {
    // In pieces of at most half a block, so that a record always fits into a block.
    for (let at = 0; at < bytes.length; at += BLOCK_BYTES / 2) {
      const piece = bytes.subarray(at, at + BLOCK_BYTES / 2);
      this.record(RAW, piece);
    }
  }

  /** `path`: a byte string, from the layer's root, without symbolic links on the way. */
  content(path: string, size: number): void {
    const bytes = Buffer.alloc(8 + path.length);
    bytes.writeBigUInt64LE(BigInt(size));
    bytes.write(path, 8, "latin1");
    this.record(CONTENT, bytes);
    this.contents++;
  }

  /** Writes the rest to the file. The caller flushes the file to the disk. */
  finish(): void {
    this.flush();
  }

  private record(kind: number, bytes: Buffer): void {
    if (this.used + 5 + bytes.length > BLOCK_BYTES) this.flush();
    this.block[this.used] = kind;
    this.block.writeUInt32LE(bytes.length, this.used + 1);
    bytes.copy(this.block, this.used + 5);
    this.used += 5 + bytes.length;
  }

  private flush(): void {
    if (this.used === 0) return;
    const packed = Bun.zstdCompressSync(this.block.subarray(0, this.used), { level: 1 });
    const length = Buffer.alloc(4);
    length.writeUInt32LE(packed.length);
    writeAll(this.fd, length);
    writeAll(this.fd, packed);
    this.used = 0;
  }
}
