import { KernelError } from "@boxyard/core/errno";
import { cstring, errno, libc, pathPointer, ptr } from "./libc.ts";

/*
 * Extended attributes. To the kernel names and values are bytes; here names are text and values bytes. Reading attributes does not open the file,
 * so that a FIFO or a device cannot block.
 */

const ENODATA = 61;
const ERANGE = 34;
/** Errors of a file system without attributes, or of attributes that the agent may not read: treated as no attributes. */
const NONE = new Set([1, 13, 22, 38, 95]);
/** Enough for nearly every file; the kernel's own bounds are 64 KiB for either. */
const first = new Uint8Array(4096);
const LARGEST = 65536;

type Fill = (target: Uint8Array) => number;

/** Calls with a small buffer, then with the largest the kernel can fill. Undefined when there is nothing to read. */
function filled(call: string, fill: Fill): Uint8Array | undefined {
  for (const target of [first, new Uint8Array(LARGEST)]) {
    const length = Number(fill(target));
    if (length >= 0) return target.slice(0, length);
    const number = errno();
    if (number === ENODATA || NONE.has(number)) return undefined;
    if (number !== ERANGE) throw new KernelError(call, number);
  }
  return undefined;
}

/** Names of a file's attributes. `path` is followed when it is a link. Throws when the file is gone. */
export function listXattr(path: string | Buffer): string[] {
  // Most files have none, so the length is read first, which needs no buffer.
  if (Number(libc().listxattr(pathPointer(path), null, 0)) === 0) return [];
  const bytes = filled("listxattr", (target) => libc().listxattr(pathPointer(path), ptr(target), target.length) as number);
  if (!bytes || bytes.length === 0) return [];
  return Buffer.from(bytes).toString("utf8").split("\0").filter(Boolean);
}

/** Value of one attribute; undefined when it is not set. */
export function getXattr(path: string | Buffer, attribute: string): Uint8Array | undefined {
  const key = cstring(attribute);
  return filled("getxattr", (target) => libc().getxattr(pathPointer(path), ptr(key), ptr(target), target.length) as number);
}

const EMPTY = new Uint8Array(1);

/** Sets an attribute. False where the file system has none; throws `ENOSPC`, `EDQUOT` and everything else. */
export function setXattr(fd: number, attribute: string, value: Uint8Array): boolean {
  const key = cstring(attribute);
  const data = value.length > 0 ? value : EMPTY;
  if (libc().fsetxattr(fd, ptr(key), ptr(data), value.length, 0) === 0) return true;
  const number = errno();
  if (NONE.has(number)) return false;
  throw new KernelError("fsetxattr", number);
}

/** Removes an attribute. A missing one is no error. */
export function removeXattr(fd: number, attribute: string): void {
  const key = cstring(attribute);
  if (libc().fremovexattr(fd, ptr(key)) === 0) return;
  const number = errno();
  if (number !== ENODATA && !NONE.has(number)) throw new KernelError("fremovexattr", number);
}
