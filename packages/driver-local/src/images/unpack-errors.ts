import { KernelError } from "@boxyard/core/errno";
import { show } from "./byte-paths.ts";
import { BadTar } from "./tar/header.ts";

/** The tar has more entries than allowed. */
export class TooManyEntries extends Error {}

/** Kernel errors that only a bad tar causes, not the machine. */
const TAR_ERRORS = [
  "ENOTDIR",
  "EISDIR",
  "ELOOP",
  "ENOENT",
  "EEXIST",
  "ENOTEMPTY",
  "ENAMETOOLONG",
  "EMLINK",
  "EINVAL",
  "E2BIG",
  "ERANGE",
  "EXDEV",
];

/** The error for a failed entry: `BadTar` when the tar is the cause, else the error itself. */
export function explained(path: string, error: unknown): unknown {
  if (error instanceof KernelError && TAR_ERRORS.includes(error.code)) {
    return new BadTar(`${show(path)} cannot be unpacked: ${error.message.slice(0, 300)}`);
  }
  return error;
}
