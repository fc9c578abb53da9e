import { accessSync, constants, statfsSync } from "node:fs";
import { AppError, type ErrorCode } from "@boxyard/core";
import { httpFailure } from "../../contracts.ts";
import { errnoOf } from "../../sys/errno-of.ts";

export { errnoOf };

/*
 * Kernel errors to answers, for files. Not core's table (`@boxyard/core/errno`): its messages hold the kernel's text, with paths of the agent.
 */

interface Meaning {
  readonly status: number;
  readonly text: string;
  /** Code in RPC answers; by default the one that `httpFailure` gives for the status. */
  readonly code?: ErrorCode;
}

/**
 * Status and message for each error; the kernel's own text may hold `/proc/self/fd` paths of the agent. Errors that follow from the path of the
 * request are 4xx; 500 is left for faults of the sandbox. Other errors are 500.
 */
const MEANINGS: Readonly<Record<string, Meaning>> = {
  ENOENT: { status: 404, text: "does not exist" },
  ENOTDIR: { status: 400, text: "a part of the path is not a directory" },
  EISDIR: { status: 400, text: "is a directory" },
  ELOOP: { status: 400, text: "too many symbolic links" },
  ENAMETOOLONG: { status: 400, text: "name too long" },
  EINVAL: { status: 400, text: "not a valid path here" },
  ENOSPC: { status: 507, text: "not enough disk space available" },
  EDQUOT: { status: 507, text: "not enough disk space available (quota)" },
  EROFS: { status: 403, text: "read-only file system" },
  EACCES: { status: 403, text: "permission denied" },
  EPERM: { status: 403, text: "operation not permitted" },
  EBUSY: { status: 400, text: "in use, such as a mount point", code: "failed_precondition" },
  EIO: { status: 500, text: "input or output error" },
  ENOSYS: { status: 500, text: "not supported by the file system" },
  EXDEV: { status: 400, text: "on another file system", code: "failed_precondition" },
  ENOTEMPTY: { status: 400, text: "directory not empty" },
  EFBIG: { status: 507, text: "larger than the file system takes" },
  EMFILE: { status: 500, text: "too many open files in the agent" },
  ESTALE: { status: 409, text: "its directory was moved or removed meanwhile", code: "aborted" },
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
  const { status, text, code } = (errno ? meaningOf(errno) : undefined) ?? { status: 500, text: errno ?? "failed" };
  return code ? new AppError(code, `${what}: ${text}`, { cause: error }) : httpFailure(status, `${what}: ${text}`, error);
}

/** HTTP status for an error of the kernel, 500 for any other. */
export function statusOf(error: unknown): number {
  return meaningOf(errnoOf(error) ?? "")?.status ?? 500;
}

/** `f_type` of file systems whose files the kernel makes: proc, sysfs, cgroup, cgroup2, debugfs, tracefs, securityfs, bpf (linux/magic.h). */
const KERNEL_FILE_SYSTEMS: ReadonlySet<number> = new Set([
  0x9fa0, 0x62656572, 0x27e0eb, 0x63677270, 0x64626720, 0x74726163, 0x73636673, 0xcafe4a11,
]);

/**
 * As `fileError`, for a failed read or write of the content of the file at `path`. A file that the kernel makes may refuse any content with any error,
 * EIO too: that is 400, because no disk has failed.
 */
export function contentError(what: string, error: unknown, path: string | Buffer): AppError {
  const failure = fileError(what, error);
  const errno = errnoOf(error);
  if (errno === undefined || failure.details.httpStatus !== 500 || !isMadeByKernel(path)) return failure;
  return httpFailure(400, `${what}: a file of the kernel, which refuses it with ${errno}`, error);
}

function isMadeByKernel(path: string | Buffer): boolean {
  try {
    return KERNEL_FILE_SYSTEMS.has(statfsSync(path).type >>> 0);
  } catch {
    return false;
  }
}

/** Runs a step and translates what it throws. */
export function guarded<T>(what: string, run: () => T): T {
  try {
    return run();
  } catch (error) {
    throw fileError(what, error);
  }
}
