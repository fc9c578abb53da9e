import { closeSync, constants, fchmodSync, fchownSync, fstatSync, openSync, renameSync, type Stats, unlinkSync } from "node:fs";
import { METADATA_PREFIX, type Metadata, storedValue } from "./metadata.ts";
import type { Owner, PinnedDir } from "./path/pinned-dir.ts";
import { copyWhole } from "./sys/copy.ts";
import { contentError, errnoOf } from "./sys/errno.ts";
import { getXattr, listXattr, removeXattr, setXattr } from "./sys/xattr.ts";
import { temporaryName } from "./temporary-name.ts";

/** Mode of a new file: `0666 & ~umask`. */
const NEW_MODE = 0o666 & ~process.umask();
/** Mode bits that a replaced file keeps: all but set-user-id and set-group-id. */
const KEPT_MODE = 0o1777;
/** Errors of a directory in which no file can be made (`/proc`, `/sys`, read-only with a writable mount on the file): the file is written in place. */
const NO_NEW_NAMES = new Set(["ENOENT", "EACCES", "EPERM", "EROFS", "EINVAL", "EOPNOTSUPP"]);

/** A directory held by descriptor. */
type Dir = Pick<PinnedDir, "at">;

/** Where a staged file will be. */
export interface Place {
  readonly dir: Dir;
  /** Bytes where the name is not UTF-8. */
  readonly name: string | Buffer;
  /** The regular file of that name, whose mode and attributes (except metadata) are kept. */
  readonly existing: Stats | undefined;
  /** Whether an existing file that cannot be replaced may be written in place. A failure then leaves it damaged. */
  readonly mayOverwrite: boolean;
}

/**
 * A file whose destination changes at once and whole, or not at all: a temporary file in the same directory, then rename(2). Mode and attributes
 * (except metadata) of a replaced file are kept. The caller ends it with `commit` or `discard`.
 *
 * An existing destination in a directory where no temporary file can be made is written in place. So is a file that is a mount point
 * (`/etc/hosts` often is), after all content has arrived.
 */
export class StagedFile {
  /** Open for writing at its start. */
  readonly fd: number;
  private readonly dir: Dir;
  private readonly name: string | Buffer;
  /** Undefined when written in place. */
  private temporary: string | undefined;
  private readonly existing: Stats | undefined;
  private readonly mayOverwrite: boolean;
  private open = true;
  private owner: Owner | undefined;
  private metadata: Metadata = {};

  private constructor(place: Place, fd: number, temporary: string | undefined) {
    this.dir = place.dir;
    this.name = place.name;
    this.existing = place.existing;
    this.mayOverwrite = place.mayOverwrite;
    this.fd = fd;
    this.temporary = temporary;
  }

  /** Keeps using `place.dir`, which the caller closes after `commit` or `discard`. Throws the kernel's error. */
  static create(place: Place): StagedFile {
    const temporary = temporaryName(place.existing !== undefined);
    try {
      const flags = constants.O_RDWR | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
      return new StagedFile(place, openSync(place.dir.at(temporary), flags, 0o600), temporary);
    } catch (error) {
      if (!place.existing || !place.mayOverwrite || !NO_NEW_NAMES.has(errnoOf(error) ?? "")) throw error;
      return new StagedFile(place, openInPlace(place.dir.at(place.name)), undefined);
    }
  }

  /** The open file as a path, for calls that take one. */
  get fdPath(): string {
    return pathOf(this.fd);
  }

  /** The destination as a path, valid while `place.dir` is open. */
  get destination(): string | Buffer {
    return this.dir.at(this.name);
  }

  /** Bytes written so far. */
  size(): number {
    return this.open ? fstatSync(this.fd).size : 0;
  }

  /** Sets owner, mode and metadata, and closes the file. After it, `commit` only renames. */
  finish(owner: Owner, metadata: Metadata): void {
    this.owner = owner;
    this.metadata = metadata;
    if (this.temporary === undefined) this.describeInPlace(this.fd);
    else {
      fchownSync(this.fd, owner.uid, owner.gid);
      fchmodSync(this.fd, this.existing ? this.existing.mode & KEPT_MODE : NEW_MODE);
      if (this.existing) keepAttributes(this.dir.at(this.name), this.fd);
      writeMetadata(this.fd, metadata);
    }
    this.close();
  }

  /** Puts the finished file in its place. */
  commit(): void {
    if (this.temporary === undefined) return;
    try {
      renameSync(this.dir.at(this.temporary), this.dir.at(this.name));
      this.temporary = undefined;
    } catch (error) {
      if (errnoOf(error) !== "EBUSY" || !this.existing || !this.mayOverwrite) throw error;
      this.overwrite();
    }
  }

  /** Removes the temporary file. Never throws; does nothing after `commit`. */
  discard(): void {
    this.close();
    if (this.temporary !== undefined) tolerate(() => unlinkSync(this.dir.at(this.temporary ?? "")));
    this.temporary = undefined;
  }

  /** Copies the content to a destination that is a mount point, which rename(2) cannot replace. */
  private overwrite(): void {
    const from = openSync(this.dir.at(this.temporary ?? ""), constants.O_RDONLY);
    try {
      const to = openInPlace(this.dir.at(this.name));
      try {
        copyWhole(from, to, fstatSync(from).size);
        this.describeInPlace(to);
      } finally {
        closeSync(to);
      }
    } finally {
      closeSync(from);
      this.discard();
    }
  }

  /** A file that is written in place keeps its mode. A failed chown is ignored: many such files (`/proc`) have a fixed owner. */
  private describeInPlace(fd: number): void {
    const { owner } = this;
    if (owner) tolerate(() => fchownSync(fd, owner.uid, owner.gid));
    writeMetadata(fd, this.metadata);
  }

  private close(): void {
    if (!this.open) return;
    this.open = false;
    closeSync(this.fd);
  }
}

function pathOf(fd: number): string {
  return `/proc/self/fd/${fd}`;
}

function openInPlace(path: string | Buffer): number {
  return openSync(path, constants.O_WRONLY | constants.O_TRUNC | constants.O_NONBLOCK | constants.O_NOFOLLOW);
}

function tolerate(run: () => void): void {
  try {
    run();
  } catch {
    // Optional: the file is usable without it.
  }
}

/** Copies access lists and other attributes to the new inode, except metadata, `trusted.*` and `security.*`: new content must not inherit capabilities. */
function keepAttributes(from: string | Buffer, to: number): void {
  for (const name of listXattr(from)) {
    if (name.startsWith(METADATA_PREFIX) || name.startsWith("security.") || name.startsWith("trusted.")) continue;
    const value = getXattr(from, name);
    if (value) tolerate(() => setXattr(to, name, value));
  }
}

/** Replaces all `user.e2b.*` attributes. Does nothing where the file system has no extended attributes. */
function writeMetadata(fd: number, metadata: Metadata): void {
  for (const name of listXattr(pathOf(fd))) {
    if (name.startsWith(METADATA_PREFIX) && !(name.slice(METADATA_PREFIX.length) in metadata)) removeXattr(fd, name);
  }
  for (const [key, value] of Object.entries(metadata)) {
    if (!setXattr(fd, METADATA_PREFIX + key, storedValue(value))) return;
  }
}

/** Runs the steps between creation and commit. On failure it discards the file and throws the error as `AppError`. */
export async function staged<T>(file: StagedFile, what: string, run: (file: StagedFile) => Promise<T>): Promise<T> {
  try {
    return await run(file);
  } catch (error) {
    file.discard();
    throw contentError(what, error, file.destination);
  }
}
