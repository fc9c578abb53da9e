import { errno, lazyLibc } from "@boxyard/core/libc";

const libc = lazyLibc("syscall");

type Word = number | bigint;

/** One system call on this thread, by numbers. Returns its result, or `-errno`. */
export function kernelCall(number: number, a: Word, b: Word, c: Word, d: Word, e: Word, f: Word): number {
  const result = libc().syscall(number, a, b, c, d, e, f);
  // errno is read at once: nothing of the engine runs in between that could set another.
  return Number(result) === -1 ? -errno() : Number(result);
}
