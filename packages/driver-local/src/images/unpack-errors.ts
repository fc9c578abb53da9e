import { KernelError } from "../sys/errors.ts";
import { show } from "./byte-paths.ts";
import { BadTar } from "./tar/header.ts";

/** Beyond the number of entries that was allowed. */
export class TooManyEntries extends Error {}

/** Kernel errors that a tar of sound sense would not meet; they say something of the tar, not of the machine. */
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

/** What an entry's failure says: a fault of the tar as such, anything else as it came. */
export function explained(path: string, error: unknown): unknown {
  if (error instanceof KernelError && TAR_ERRORS.includes(error.code)) {
    return new BadTar(`${show(path)} cannot be unpacked: ${error.message.slice(0, 300)}`);
  }
  return error;
}
