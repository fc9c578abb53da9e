import { ptr } from "bun:ffi";
import { KernelError } from "@boxyard/core/errno";
import { errno, lazyLibc } from "@boxyard/core/libc";
import { NUMBERS, type SyscallName } from "./numbers.ts";

/** An argument of a system call: a number; text (NUL-terminated); a buffer, passed by its address (the kernel may write to it); null, passed as 0. */
export type SyscallArg = number | bigint | string | NodeJS.TypedArray | null;

const encoder = new TextEncoder();

/** Text in UTF-8 with a NUL at its end. A NUL inside is refused, because the kernel would silently cut the text there. */
export function cstring(text: string): Uint8Array {
  if (text.includes("\0")) throw new KernelError("string with NUL", 22);
  return encoder.encode(`${text}\0`);
}

function word(arg: SyscallArg | undefined, keep: NodeJS.TypedArray[]): number | bigint {
  if (arg === undefined || arg === null) return 0;
  if (typeof arg === "number" || typeof arg === "bigint") return arg;
  const buffer = typeof arg === "string" ? cstring(arg) : arg;
  if (buffer.byteLength === 0) return 0;
  keep.push(buffer);
  return ptr(buffer);
}

/** Makes one system call, synchronously, on this thread. Returns its result, or `-errno`; never throws. Retries after EINTR, except `close` and polls. */
export function trySyscall(name: SyscallName, ...args: readonly SyscallArg[]): number {
  // References the memory whose addresses the kernel has, until the call returns.
  const keep: NodeJS.TypedArray[] = [];
  const w = [0, 1, 2, 3, 4, 5].map((i) => word(args[i], keep)) as [number, number, number, number, number, number];
  for (;;) {
    const result = kernelCall(NUMBERS[name], w[0], w[1], w[2], w[3], w[4], w[5]);
    if (result === -4 && name !== "close" && name !== "ppoll" && name !== "poll") continue;
    return keep.length >= 0 ? result : 0;
  }
}

/** As `trySyscall`, but throws a `KernelError` on failure. `what` names the object in its message. */
export function syscall(name: SyscallName, args: readonly SyscallArg[], what = ""): number {
  const result = trySyscall(name, ...args);
  if (result < 0) throw new KernelError(what ? `${name} ${what}` : name, -result);
  return result;
}

const libc = lazyLibc("syscall");

type Word = number | bigint;

/** Makes one system call on this thread, with arguments as numbers. Returns its result, or `-errno`. */
function kernelCall(number: number, a: Word, b: Word, c: Word, d: Word, e: Word, f: Word): number {
  const result = libc().syscall(number, a, b, c, d, e, f);
  // errno is read at once: no code of the engine runs in between that could change it.
  return Number(result) === -1 ? -errno() : Number(result);
}
