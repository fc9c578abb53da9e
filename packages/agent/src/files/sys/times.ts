import { KernelError } from "@boxyard/core/errno";
import { errno, libc, ptr } from "./libc.ts";

const AT_SYMLINK_NOFOLLOW = 0x100;
const SECOND_NS = 1_000_000_000n;

/** Access and modification time in nanoseconds since 1970, as `lstatSync(…, { bigint: true })` gives them. */
export interface Times {
  readonly atimeNs: bigint;
  readonly mtimeNs: bigint;
}

/** Sets both times of a name in a directory, of a link too, to the nanosecond: node's own calls take seconds as a number, which is too coarse. */
export function setTimes(dirFd: number, name: string | Buffer, { atimeNs, mtimeNs }: Times): void {
  const path = Buffer.concat([Buffer.from(name), Buffer.alloc(1)]);
  const times = new BigInt64Array([...timespec(atimeNs), ...timespec(mtimeNs)]);
  if (libc().utimensat(dirFd, ptr(path), ptr(times), AT_SYMLINK_NOFOLLOW) !== 0) throw new KernelError("utimensat", errno());
}

/** Nanoseconds are never negative, seconds before 1970 are. */
function timespec(ns: bigint): [bigint, bigint] {
  const rest = ((ns % SECOND_NS) + SECOND_NS) % SECOND_NS;
  return [(ns - rest) / SECOND_NS, rest];
}
