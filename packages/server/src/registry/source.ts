import type { Descriptor } from "./manifest.ts";

/** A document with its digest, which has been checked. */
export interface Document {
  readonly bytes: Uint8Array;
  readonly mediaType: string;
  readonly digest: string;
}

/** A blob on this machine, whole and of the right digest. */
export interface BlobFile extends AsyncDisposable {
  readonly path: string;
}

export interface FetchOptions {
  readonly signal: AbortSignal;
  /** Called with the count of bytes as they come; less than zero when a part has to be fetched anew. */
  readonly onBytes?: (bytes: number) => void;
}

/** Where the parts of an image come from: a registry, or an archive. Everything it gives has the digest that was asked for. */
export interface ImageSource {
  /** The image's top document: a manifest or an index. */
  top(signal: AbortSignal): Promise<Document>;
  document(descriptor: Descriptor, signal: AbortSignal): Promise<Document>;
  blob(descriptor: Descriptor, options: FetchOptions): Promise<BlobFile>;
}
