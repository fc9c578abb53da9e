import { AppError, type ErrorCode } from "../errors.ts";

export { KernelError } from "./kernel-error.ts";

/** Code for each error of the kernel. Others are `internal`. */
const CODES: Readonly<Record<string, ErrorCode>> = {
  ENOENT: "not_found",
  ESRCH: "not_found",
  EEXIST: "already_exists",
  EACCES: "permission_denied",
  EPERM: "permission_denied",
  EROFS: "permission_denied",
  EINVAL: "invalid_argument",
  ENAMETOOLONG: "invalid_argument",
  ENOTDIR: "invalid_argument",
  EISDIR: "invalid_argument",
  ELOOP: "invalid_argument",
  ENOSPC: "resource_exhausted",
  EDQUOT: "resource_exhausted",
  EMFILE: "resource_exhausted",
  ENFILE: "resource_exhausted",
  ENOMEM: "resource_exhausted",
  EAGAIN: "resource_exhausted",
  ENOBUFS: "resource_exhausted",
  EUSERS: "resource_exhausted",
  EBUSY: "unavailable",
  ETIMEDOUT: "deadline_exceeded",
  ECONNREFUSED: "unavailable",
  ECONNRESET: "unavailable",
  ENOSYS: "unimplemented",
  EOPNOTSUPP: "unimplemented",
};

/** The errno name (`ENOENT`) somewhere in the chain of causes, if any. */
export function errnoOf(error: unknown): string | undefined {
  for (let e = error, depth = 0; e instanceof Error && depth < 8; e = e.cause as unknown, depth++) {
    const code = (e as { code?: unknown }).code;
    if (typeof code === "string" && /^E[A-Z0-9]+$/.test(code)) return code;
  }
  return undefined;
}

/** Errors of a disk that fails, or is read-only. */
const DISK_FAULTS: ReadonlySet<string> = new Set(["EIO", "EROFS"]);

/**
 * True when the kernel refused for lack of something that may be free again later: memory, processes, descriptors, disk, or a lock. Also for a failing disk,
 * because nothing is wrong with the request.
 */
export const isTransientErrno = (error: unknown): boolean => isTransientErrnoName(errnoOf(error) ?? "");

/** The same, of the name alone. */
export function isTransientErrnoName(errno: string): boolean {
  const code = CODES[errno];
  return DISK_FAULTS.has(errno) || code === "resource_exhausted" || code === "unavailable" || code === "deadline_exceeded";
}

/** Kernel error to `AppError`, with the operation that failed in the sentence. An `AppError` passes through unchanged. */
export function fromErrno(operation: string, error: unknown): AppError {
  if (error instanceof AppError) return error;
  const errno = errnoOf(error);
  const text = error instanceof Error ? error.message : String(error);
  const code = (errno && CODES[errno]) || "internal";
  return new AppError(code, `${operation}: ${text}`, { reason: errno?.toLowerCase() ?? "internal", cause: error });
}
