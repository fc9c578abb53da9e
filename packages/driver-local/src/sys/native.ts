import { dlopen, FFIType, read } from "bun:ffi";

const WORD = FFIType.i64_fast;

/** The C library that Bun itself has loaded. */
function load() {
  const { symbols } = dlopen("libc.so.6", {
    syscall: { args: [WORD, WORD, WORD, WORD, WORD, WORD, WORD], returns: WORD },
    __errno_location: { args: [], returns: FFIType.ptr },
  });
  // Of this thread; each worker loads this module for itself.
  const errno = symbols.__errno_location();
  if (errno === null) throw new Error("libc gives no errno");
  return { syscall: symbols.syscall, errno };
}

let loaded: ReturnType<typeof load> | undefined;

type Word = number | bigint;

/** One system call on this thread, by numbers. Returns its result, or `-errno`. */
export function kernelCall(number: number, a: Word, b: Word, c: Word, d: Word, e: Word, f: Word): number {
  loaded ??= load();
  const result = loaded.syscall(number, a, b, c, d, e, f);
  // errno is read at once: nothing of the engine runs in between that could set another.
  return Number(result) === -1 ? -read.i32(loaded.errno, 0) : Number(result);
}
