import { TAR_BLOCK, tarPadding } from "@boxyard/spec/tar";
import { badImage } from "./manifest.ts";

/* The part of the tar format that image archives need: plain files with short names. */

/** Bytes of a file in a tar, with its header and padding. */
export const tarSize = (size: number): number => TAR_BLOCK + size + tarPadding(size).length;

/** A file of an archive that is being read. `body` must be read to its end, or not at all, before the next file is asked for. */
export interface ArchiveFile {
  readonly path: string;
  readonly size: number;
  readonly body: AsyncGenerator<Uint8Array>;
}

/** The plain files of a tar, in their order. Other entries are skipped: an image layout needs none. Throws `bad_image`. */
export async function* readArchive(stream: ReadableStream<Uint8Array>): AsyncGenerator<ArchiveFile> {
  const input = new Input(stream);
  try {
    for (;;) {
      const header = await input.block();
      if (!header || header.every((byte) => byte === 0)) return;
      const { path, size, isFile } = parsed(header);
      const body = input.body(size);
      if (isFile) yield { path, size, body };
      for await (const _ of body);
      await input.skip(tarPadding(size).length);
    }
  } finally {
    await input.close();
  }
}

function parsed(header: Buffer): { path: string; size: number; isFile: boolean } {
  const text = (at: number, length: number) => header.toString("latin1", at, at + length).split("\0", 1)[0] as string;
  const octal = (at: number, length: number) => Number.parseInt(text(at, length).trim() || "0", 8);
  const sum = header.reduce((a, b, i) => a + (i >= 148 && i < 156 ? 32 : b), 0);
  if (octal(148, 8) !== sum) throw badImage("the archive is not a tar");
  const size = (header[124] as number) & 0x80 ? Number(header.readBigUInt64BE(128)) : octal(124, 12);
  if (!Number.isSafeInteger(size) || size < 0) throw badImage("the archive has a file with an invalid size");
  const prefix = text(345, 155);
  const path = (prefix && header.toString("latin1", 257, 263) === "ustar\0" ? `${prefix}/` : "") + text(0, 100);
  return { path: path.replace(/^(\.\/)+/, ""), size, isFile: header[156] === 48 || header[156] === 0 };
}

class Input {
  private readonly reader: ReadableStreamDefaultReader<Uint8Array>;
  private rest: Uint8Array = new Uint8Array(0);

  constructor(stream: ReadableStream<Uint8Array>) {
    this.reader = stream.getReader();
  }

  async block(): Promise<Buffer | undefined> {
    const parts: Uint8Array[] = [];
    let left = TAR_BLOCK;
    for (; left > 0; left -= parts.at(-1)?.length ?? 0) {
      const piece = await this.take(left);
      if (!piece && left === TAR_BLOCK) return undefined;
      if (!piece) throw badImage("the archive is cut off");
      parts.push(piece);
    }
    return Buffer.concat(parts);
  }

  async *body(size: number): AsyncGenerator<Uint8Array> {
    for (let left = size; left > 0; ) {
      const piece = await this.take(left);
      if (!piece) throw badImage("the archive is cut off");
      left -= piece.length;
      yield piece;
    }
  }

  async skip(bytes: number): Promise<void> {
    for await (const _ of this.body(bytes));
  }

  async close(): Promise<void> {
    await this.reader.cancel();
  }

  /** The next bytes, at most `most`; undefined at the end. */
  private async take(most: number): Promise<Uint8Array | undefined> {
    while (this.rest.length === 0) {
      const { done, value } = await this.reader.read();
      if (done) return undefined;
      this.rest = value;
    }
    const piece = this.rest.subarray(0, most);
    this.rest = this.rest.subarray(piece.length);
    return piece;
  }
}
