import { constants } from "node:os";

/** Second names of error numbers; `core/node/errno.ts` uses the more usual first name. */
const ALIASES = new Set(["EWOULDBLOCK", "ENOTSUP", "EDEADLOCK"]);
const NAMES = new Map<number, string>(
  Object.entries(constants.errno)
    .filter(([name]) => !ALIASES.has(name))
    .map(([name, value]) => [value, name]),
);

/** `ENOENT` for 2. Unknown numbers become `E<number>`. */
export function errnoName(errno: number): string {
  return NAMES.get(errno) ?? `E${errno}`;
}

/** A system call that failed. `code` is the errno's name, as in Node's own errors, so that `core/node/errno.ts` understands it. */
export class KernelError extends Error {
  override readonly name = "KernelError";
  /** `ENOENT` and the like. */
  readonly code: string;
  /** The positive number of the error. */
  readonly errno: number;
  /** The operation that failed, for example `mount /a`. */
  readonly operation: string;

  constructor(operation: string, errno: number) {
    const code = errnoName(errno);
    super(`${operation}: ${code}`);
    this.code = code;
    this.errno = errno;
    this.operation = operation;
  }
}

/** True when `error` carries one of these errno names as its own code. */
export function hasErrno(error: unknown, ...codes: readonly string[]): boolean {
  const code = (error as { code?: unknown } | undefined)?.code;
  return typeof code === "string" && codes.includes(code);
}
