import { ptr } from "bun:ffi";
import { closeSync, fchownSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { lazyLibc } from "@boxyard/core/libc";
import { O_CLOEXEC } from "./open-file.ts";

/*
 * System calls that the runtime lacks. The pipes of `Bun.spawn` are socket pairs, which a program cannot open again as /dev/stdout, and are read without
 * a bound; so the agent makes its own pipes.
 */

const O_NONBLOCK = 0o4000;
const F_SETFL = 4;
const F_DUPFD_CLOEXEC = 1030;
const F_SETPIPE_SZ = 1031;
const FIONREAD = 0x541b;

/** The functions that commands and terminals use. */
export const libc = lazyLibc("pipe2", "fcntl", "ioctl", "kill", "poll", "socketpair", "sendmsg", "memfd_create");

/** A pipe; both ends close on exec. */
export interface Pipe {
  readonly read: number;
  readonly write: number;
}

/**
 * Makes a pipe. `nonBlocking` is the agent's end; the program's end stays blocking, as programs expect. With `owner` the pipe belongs to that user, so
 * that the program can open it again as /dev/stdout.
 */
export function makePipe(nonBlocking: "read" | "write", owner?: { readonly uid: number; readonly gid: number }): Pipe {
  const ends = new Int32Array(2);
  if (libc().pipe2(ptr(ends), O_CLOEXEC) < 0) {
    throw new AppError("resource_exhausted", "the agent has no descriptor left for a pipe", { reason: "no_descriptors" });
  }
  const pipe = { read: ends[0] ?? -1, write: ends[1] ?? -1 };
  libc().fcntl(pipe[nonBlocking], F_SETFL, O_NONBLOCK);
  try {
    if (owner && owner.uid !== 0) fchownSync(pipe.read, owner.uid, owner.gid);
  } catch (error) {
    // /etc/passwd may hold ids that the sandbox's user namespace lacks.
    closeQuietly(pipe.read);
    closeQuietly(pipe.write);
    throw error;
  }
  return pipe;
}

/** Sets the size of a pipe. Does nothing for other descriptors, and at the user's limit for pipes. */
export function widenPipe(fd: number, bytes: number): void {
  libc().fcntl(fd, F_SETPIPE_SZ, bytes);
}

/** True when a read of `fd` would not block: there are bytes, or the write end is closed. */
export function hasPending(fd: number): boolean {
  const POLLIN = 1;
  const pollfd = new Int32Array([fd, POLLIN]); // struct pollfd, little-endian: wanted events in the low half of its second word
  return libc().poll(ptr(pollfd), 1, 0) > 0;
}

/** Number of bytes that can be read from `fd`; 0 where the kernel does not report it. For a terminal at most a few thousand. */
export function pendingBytes(fd: number): number {
  const count = new Int32Array(1);
  return libc().ioctl(fd, FIONREAD, ptr(count)) < 0 ? 0 : Math.max(0, count[0] ?? 0);
}

/** Another descriptor of the same open file: the event loop can wait on a descriptor either for reading or for writing. */
export function duplicate(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw new AppError("resource_exhausted", "the agent has no descriptor left", { reason: "no_descriptors" });
  return copy;
}

/** Closes a descriptor that may be closed already. Never throws. */
export function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Closed already.
  }
}
