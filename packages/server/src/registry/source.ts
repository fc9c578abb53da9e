import type { Descriptor } from "./manifest.ts";

/** A document of an image. `digest` was checked against the bytes. */
export interface Document {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly digest: string;
}

/** A blob in a file on this machine, complete, with the right digest. The file may be removed when the blob is disposed of. */
export interface BlobFile extends AsyncDisposable {
  readonly path: string;
}

export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Called with the number of bytes that came; negative when bytes have to be fetched again. */
  readonly onBytes?: (bytes: number) => void;
}

/** Where the parts of an image come from: a registry, or an archive. Every part has the digest of its descriptor. */
export interface ImageSource {
  /** The image's top document: a manifest or an index. */
  top(signal: AbortSignal): Promise<Document>;
  document(descriptor: Descriptor, signal: AbortSignal): Promise<Document>;
  blob(descriptor: Descriptor, options: FetchOptions): Promise<BlobFile>;
}
