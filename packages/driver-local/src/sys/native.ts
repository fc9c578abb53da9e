import { errno, lazyLibc } from "@boxyard/core/libc";

const libc = lazyLibc("syscall");

type Word = number | bigint;

/** Makes one system call on this thread, with arguments as numbers. Returns its result, or `-errno`. */
export function kernelCall(number: number, a: Word, b: Word, c: Word, d: Word, e: Word, f: Word): number {
  const result = libc().syscall(number, a, b, c, d, e, f);
  // errno is read at once: no code of the engine runs in between that could change it.
  return Number(result) === -1 ? -errno() : Number(result);
}
