import type { RequestOptions } from "../connection/request-scope.ts";
import type { UploadProgress } from "./upload-parts.ts";

export interface FileOpts extends RequestOptions {
  /** User who reads files and owns new files; relative paths begin at the user's home directory. Default: the user of the template. */
  readonly user?: string | undefined;
}

export interface ReadOpts extends FileOpts {
  /** Default `text`. */
  readonly format?: "text" | "bytes" | "blob" | "stream" | undefined;
}

export interface WriteOpts extends FileOpts {
  /** Stored with the file as extended attributes; replaces earlier metadata. Printable ASCII, 4096 bytes in total. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Called after each part of the upload. A returned promise is awaited; an error thrown here ends the upload and is thrown to the caller. */
  readonly onProgress?: ((progress: UploadProgress) => void | Promise<void>) | undefined;
}

export interface ListOpts extends FileOpts {
  /** How many levels deep. Default 1. */
  readonly depth?: number | undefined;
}
