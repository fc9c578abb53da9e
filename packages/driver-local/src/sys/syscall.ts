import { ptr } from "bun:ffi";
import { KernelError } from "./errors.ts";
import { kernelCall } from "./native.ts";
import { NUMBERS, type SyscallName } from "./numbers.ts";

/** Numbers go as they are; text becomes a NUL-terminated string; a buffer its address (the kernel may write into it); null a zero. */
export type SyscallArg = number | bigint | string | NodeJS.TypedArray | null;

const encoder = new TextEncoder();

/** Text as the kernel wants it. A NUL inside would cut it short unseen, so it is refused. */
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

/** One system call, synchronous, on this thread. Returns its result, or `-errno`; throws nothing. EINTR is retried. */
export function trySyscall(name: SyscallName, ...args: readonly SyscallArg[]): number {
  // Holds on to the memory whose addresses the kernel has until the call returns.
  const keep: NodeJS.TypedArray[] = [];
  const w = [0, 1, 2, 3, 4, 5].map((i) => word(args[i], keep)) as [number, number, number, number, number, number];
  for (;;) {
    const result = kernelCall(NUMBERS[name], w[0], w[1], w[2], w[3], w[4], w[5]);
    if (result === -4 && name !== "close" && name !== "ppoll" && name !== "poll") continue;
    return keep.length >= 0 ? result : 0;
  }
}

/** As `trySyscall`, but failure is a `KernelError`. `what` names the object in its message. */
export function syscall(name: SyscallName, args: readonly SyscallArg[], what = ""): number {
  const result = trySyscall(name, ...args);
  if (result < 0) throw new KernelError(what ? `${name} ${what}` : name, -result);
  return result;
}
