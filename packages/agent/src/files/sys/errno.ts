import { accessSync, constants } from "node:fs";
import { AppError } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { errnoOf } from "../../sys/errno-of.ts";

export { errnoOf };

/*
 * Kernel errors to answers, for files. Not core's table (`@boxyard/core/errno`): its messages hold the kernel's text, with paths of the agent.
 */

/** A system call made through FFI that failed. `code` is the errno's name, as on node's own errors. */
export class SysError extends Error {
  override readonly name = "SysError";
  readonly code: string;

  constructor(call: string, errno: number) {
    const code = NAMES[errno] ?? `E${errno}`;
    super(`${call}: ${code}`);
    this.code = code;
  }
}

const NAMES: Readonly<Record<number, string>> = {
  1: "EPERM",
  2: "ENOENT",
  4: "EINTR",
  5: "EIO",
  9: "EBADF",
  11: "EAGAIN",
  12: "ENOMEM",
  13: "EACCES",
  14: "EFAULT",
  16: "EBUSY",
  17: "EEXIST",
  18: "EXDEV",
  20: "ENOTDIR",
  21: "EISDIR",
  22: "EINVAL",
  24: "EMFILE",
  25: "ENOTTY",
  26: "ETXTBSY",
  27: "EFBIG",
  28: "ENOSPC",
  30: "EROFS",
  34: "ERANGE",
  36: "ENAMETOOLONG",
  38: "ENOSYS",
  40: "ELOOP",
  61: "ENODATA",
  75: "EOVERFLOW",
  95: "EOPNOTSUPP",
  116: "ESTALE",
  122: "EDQUOT",
};

interface Meaning {
  readonly status: number;
  readonly text: string;
}

/** Status and message for each error; the kernel's own text may hold `/proc/self/fd` paths of the agent. Other errors are 500. */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: { status: 404, text: "does not exist" },
  ENOTDIR: { status: 400, text: "a part of the path is not a directory" },
  EISDIR: { status: 400, text: "is a directory" },
  ELOOP: { status: 400, text: "too many symbolic links" },
  ENAMETOOLONG: { status: 400, text: "name too long" },
  EINVAL: { status: 400, text: "not a valid path here" },
  ENOSPC: { status: 507, text: "not enough disk space available" },
  EDQUOT: { status: 507, text: "not enough disk space available (quota)" },
  EROFS: { status: 500, text: "read-only file system" },
  EACCES: { status: 500, text: "permission denied" },
  EPERM: { status: 500, text: "operation not permitted" },
  EBUSY: { status: 500, text: "in use, such as a mount point" },
  EIO: { status: 500, text: "input or output error" },
  ENOSYS: { status: 500, text: "not supported by the file system" },
  EXDEV: { status: 500, text: "on another file system" },
  ENOTEMPTY: { status: 400, text: "directory not empty" },
  EFBIG: { status: 507, text: "larger than the file system takes" },
  EMFILE: { status: 500, text: "too many open files in the agent" },
  ESTALE: { status: 500, text: "its directory was moved or removed meanwhile" },
  ENFILE: { status: 500, text: "too many open files in the sandbox" },
};

/** For clients the same as a full disk: writes succeed again when the operator has made room. */
const STORAGE_READ_ONLY: Meaning = { status: 507, text: "not enough disk space available (the disk below the sandbox takes no writes)" };

/**
 * Meaning of an error. The storage of the whole sandbox becomes read-only after a failed write to the host's disk, mostly because that disk is
 * full; the newest data cannot even be read then (EIO). A single read-only mount has the usual meaning of EROFS.
 */
function meaningOf(errno: string): Meaning | undefined {
  if ((errno === "EROFS" || errno === "EIO") && isReadOnly("/")) return STORAGE_READ_ONLY;
  return MEANINGS[errno];
}

function isReadOnly(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    return false;
  } catch (error) {
    return errnoOf(error) === "EROFS";
  }
}

/** A failure as `AppError` with the HTTP status of the contract. `what` is the operation, such as `write '/a/b'`. An `AppError` passes through. */
export function fileError(what: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const errno = errnoOf(error);
  const meaning = errno ? meaningOf(errno) : undefined;
  if (meaning) return httpFailure(meaning.status, `${what}: ${meaning.text}`, error);
  return httpFailure(500, `${what}: ${errno ?? "failed"}`, error);
}

/** Runs a step and translates what it throws. */
export function guarded<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw fileError(what, error);
  }
}
