import { AppError } from "@boxyard/core";

/**
 * The files of a volume, for a client without a sandbox.
 *
 * **Paths** begin at the volume's root; a leading `/` is optional, and the empty path is the root. `..`, control character 0 and more than 4,096 bytes or 256 parts are
 * `invalid_argument`, reason `bad_path`. Links on the way are followed as if the root of the volume were `/`, so none leads out of it. At the end of a
 * path `read` and `update` follow a link; the others act on the link itself.
 *
 * **Errors.** `not_found`: reason `volume_not_found`, or `path_not_found` for a path, or a parent, that does not exist. `already_exists`, reason
 * `path_exists`. `failed_precondition`: reason `not_a_directory`, `not_a_file`, or `bad_link` for links in a circle. `resource_exhausted`: reason
 * `volume_full`, `volume_disk_full`, or `too_many_entries` for a list. `data_loss`, reason `bad_volume`, for a damaged volume. `details.volume` is its id.
 *
 * Sandboxes may change the files at the same time; every call acts as one more program on the same file system.
 */
export interface VolumeContent {
  stat(id: string, path: string): Promise<VolumeEntry>;
  /** What a directory holds, sorted by path, down to `depth` levels (1: its own entries). At most `MAX_VOLUME_ENTRIES`. */
  list(id: string, path: string, options: ListOptions): Promise<readonly VolumeEntry[]>;
  /** A part of a file. Cancelling the stream releases the file. */
  read(id: string, path: string, options: ReadOptions): Promise<VolumeFile>;
  /**
   * Makes a file of the whole stream, or changes nothing. A file at the path is `path_exists`, and replaced with `force`; a link is replaced, not
   * followed. Its parent must exist. A failure cancels the stream.
   */
  write(id: string, path: string, source: ReadableStream<Uint8Array>, options: WriteOptions): Promise<VolumeEntry>;
  /** With `force` also its parents are made, and a directory that exists is left as it is. */
  makeDirectory(id: string, path: string, options: MakeOptions): Promise<VolumeEntry>;
  /** Gives a file or directory another path. Something there is `path_exists`; with `force` a file, or an empty directory, is replaced. */
  move(id: string, from: string, to: string, options?: { readonly force?: boolean }): Promise<VolumeEntry>;
  /** Removes a file, or a directory with all in it. The root is `failed_precondition`, reason `is_root`. */
  remove(id: string, path: string): Promise<void>;
  /** Sets these attributes. */
  update(id: string, path: string, attributes: VolumeAttributes): Promise<VolumeEntry>;
}

/** Most entries of one `list`. */
export const MAX_VOLUME_ENTRIES = 20_000;
export const MAX_VOLUME_DEPTH = 256;

/** Owners as sandboxes see them, 0 to 65,535; `mode` is the permission bits, with set-user-id and the like. */
export interface VolumeAttributes {
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly mode?: number | undefined;
}

/** Defaults: owner 0, mode 0644 for a file and 0755 for a directory. */
export interface MakeOptions extends VolumeAttributes {
  readonly force?: boolean | undefined;
}

export interface WriteOptions extends MakeOptions {
  /** Aborting changes nothing and rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

export interface ReadOptions {
  readonly signal: AbortSignal;
  /** Bytes to read, from `start` up to, not including, `end`; what is beyond the file's end is left out. By default the whole file. */
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

export interface ListOptions {
  readonly depth: number;
}

export interface VolumeFile {
  readonly entry: VolumeEntry;
  /** Bytes of `stream`: exactly as many, or the stream fails because the file was cut meanwhile. */
  readonly lengthBytes: number;
  readonly stream: ReadableStream<Uint8Array>;
}

export interface VolumeEntry {
  readonly name: string;
  /** From the volume's root, with a leading `/`. Bytes that are no UTF-8 are replaced, so that such a path is not found again. */
  readonly path: string;
  /** `unknown`: a FIFO, a socket or the like. */
  readonly type: "file" | "directory" | "symlink" | "unknown";
  readonly sizeBytes: number;
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  /** Milliseconds since 1970. */
  readonly accessedAt: number;
  readonly modifiedAt: number;
  readonly changedAt: number;
  /** What a symbolic link holds. */
  readonly target?: string;
}

const MAX_PATH_BYTES = 4_096;
const MAX_ID = 65_535;
const MAX_MODE = 0o7777;

/** The parts of a path in a volume; none for its root. Throws `invalid_argument`, reason `bad_path`. */
export function volumePathParts(path: string): readonly string[] {
  const parts = path.split("/").filter((part) => part !== "" && part !== ".");
  if (parts.includes("..") || path.includes("\0") || Buffer.byteLength(path) > MAX_PATH_BYTES || parts.length > MAX_VOLUME_DEPTH) {
    const message = `A path in a volume has at most 4,096 bytes, ${MAX_VOLUME_DEPTH} parts and no '..'`;
    throw new AppError("invalid_argument", message, { reason: "bad_path" });
  }
  return parts;
}

export const tooManyEntries = () =>
  new AppError("resource_exhausted", `The directory has more than ${MAX_VOLUME_ENTRIES} entries down to this depth: list parts of it`, {
    reason: "too_many_entries",
    details: { limit: "volumeEntries", value: MAX_VOLUME_ENTRIES, shouldRetry: false },
  });

/** Throws `invalid_argument`, reason `bad_attributes`. */
export function checkVolumeAttributes({ uid = 0, gid = 0, mode = 0 }: VolumeAttributes): void {
  const isIn = (value: number, max: number) => Number.isInteger(value) && value >= 0 && value <= max;
  if (isIn(uid, MAX_ID) && isIn(gid, MAX_ID) && isIn(mode, MAX_MODE)) return;
  throw new AppError("invalid_argument", "An owner of a file in a volume is from 0 to 65,535, and a mode from 0 to 0o7777", {
    reason: "bad_attributes",
  });
}

/** Throws `invalid_argument`, reason `bad_depth`. */
export function checkVolumeDepth(depth: number): void {
  if (Number.isInteger(depth) && depth >= 1 && depth <= MAX_VOLUME_DEPTH) return;
  throw new AppError("invalid_argument", `The depth of a list is from 1 to ${MAX_VOLUME_DEPTH}`, { reason: "bad_depth" });
}
