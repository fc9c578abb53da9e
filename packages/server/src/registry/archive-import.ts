import { open } from "node:fs/promises";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { type InstalledImage, type InstallOptions, installImage } from "./install.ts";
import { badImage, type Descriptor, MAX_DOCUMENT_BYTES, MEDIA, sha256 } from "./manifest.ts";
import type { BlobFile, Document, ImageSource } from "./source.ts";
import { type ArchiveFile, readArchive } from "./tar.ts";
import { withWorkDirectory } from "./work-directory.ts";

const BLOB = /^blobs\/sha256\/([0-9a-f]{64})$/;
/** Limit of the bytes of all files of an archive together. */
const DEFAULT_MAX_BYTES = 128 * 1024 ** 3;
/** Limit of blobs in an archive: an image has some thousand at most, and an archive may hold several images. */
const DEFAULT_MAX_BLOBS = 10_000;

export interface ImportArchiveOptions extends InstallOptions {
  /** The tar of an image layout. */
  readonly archive: ReadableStream<Uint8Array>;
  /** Directory for the archive's blobs while they are unpacked. */
  readonly directory: string;
  /** Limit of the bytes of all files of the archive together; 128 GiB by default. */
  readonly maxBytes?: number;
  /** Limit of the blobs in the archive; 10,000 by default. */
  readonly maxBlobs?: number;
}

/** Installs an image of an OCI archive on this machine. Errors as for `pullImage`; `resource_exhausted`, reason `archive_too_large`, too. */
export async function importArchive(options: ImportArchiveOptions): Promise<InstalledImage> {
  return withWorkDirectory(options.directory, async (work) => {
    const source = new ArchiveSource(work, options.maxBlobs ?? DEFAULT_MAX_BLOBS);
    await source.read(options.archive, options.maxBytes ?? DEFAULT_MAX_BYTES, options.signal);
    return await installImage(source, options);
  });
}

class ArchiveSource implements ImageSource {
  private readonly directory: string;
  private readonly maxBlobs: number;
  private readonly sizes = new Map<string, number>();
  private index: Uint8Array | undefined;

  constructor(directory: string, maxBlobs: number) {
    this.directory = directory;
    this.maxBlobs = maxBlobs;
  }

  /** Writes all blobs to the directory, since they come in any order, and checks each against the digest in its name. */
  async read(archive: ReadableStream<Uint8Array>, maxBytes: number, signal: AbortSignal): Promise<void> {
    let left = maxBytes;
    for await (const file of readArchive(archive)) {
      signal.throwIfAborted();
      left -= file.size;
      if (left < 0) throw new AppError("resource_exhausted", "The archive is larger than allowed", { reason: "archive_too_large" });
      const hex = BLOB.exec(file.path)?.[1];
      if (hex !== undefined) await this.keep(hex, file);
      else if (file.path === "index.json") this.index = await whole(file);
    }
    signal.throwIfAborted();
  }

  async top(): Promise<Document> {
    if (!this.index) throw badImage("it is not an OCI archive: there is no index.json");
    return { bytes: this.index, mediaType: MEDIA.index, digest: sha256(this.index) };
  }

  async document({ digest, mediaType }: Descriptor): Promise<Document> {
    const size = this.sizeOf(digest);
    if (size > MAX_DOCUMENT_BYTES) throw badImage("a document of it is too large");
    return { bytes: await Bun.file(this.pathOf(digest)).bytes(), mediaType, digest };
  }

  async blob({ digest }: Descriptor, { onBytes }: { onBytes?: (bytes: number) => void }): Promise<BlobFile> {
    onBytes?.(this.sizeOf(digest));
    return { path: this.pathOf(digest), [Symbol.asyncDispose]: async () => {} };
  }

  private async keep(hex: string, file: ArchiveFile): Promise<void> {
    if (this.sizes.size >= this.maxBlobs) throw badImage(`the archive holds more than ${this.maxBlobs} blobs`);
    const hash = new Bun.CryptoHasher("sha256");
    await using out = await open(join(this.directory, hex), "w", 0o600);
    for await (const piece of file.body) {
      hash.update(piece);
      await out.writeFile(piece);
    }
    if (hash.digest("hex") !== hex)
      throw new AppError("data_loss", `The blob sha256:${hex} of the archive has another digest`, { reason: "bad_digest" });
    this.sizes.set(`sha256:${hex}`, file.size);
  }

  private sizeOf(digest: string): number {
    const size = this.sizes.get(digest);
    if (size === undefined) throw badImage(`the archive lacks the blob ${digest}`);
    return size;
  }

  private pathOf(digest: string): string {
    return join(this.directory, digest.slice(7));
  }
}

async function whole(file: ArchiveFile): Promise<Uint8Array> {
  if (file.size > MAX_DOCUMENT_BYTES) throw badImage("its index is too large");
  const parts: Uint8Array[] = [];
  for await (const piece of file.body) parts.push(piece.slice());
  return new Uint8Array(Buffer.concat(parts));
}
