import type { RequestOptions } from "../connection/request-scope.ts";
import type { UploadProgress } from "./upload-parts.ts";

export interface FileOpts extends RequestOptions {
  /** Who reads or owns; relative paths begin at this user's home directory. Default: the user of the template. */
  readonly user?: string | undefined;
}

export interface ReadOpts extends FileOpts {
  /** Default `text`. */
  readonly format?: "text" | "bytes" | "blob" | "stream" | undefined;
}

export interface WriteOpts extends FileOpts {
  /** Kept with the file as extended attributes; replaces what was there. Printable ASCII, 4096 bytes in all. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Called as the data is taken, part by part; a returned promise is waited for, an error thrown here ends the upload and reaches the caller. */
  readonly onProgress?: ((progress: UploadProgress) => void | Promise<void>) | undefined;
}

export interface ListOpts extends FileOpts {
  /** How many levels deep. Default 1. */
  readonly depth?: number | undefined;
}
