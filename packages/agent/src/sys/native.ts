import { ptr } from "bun:ffi";
import { closeSync, fchownSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { lazyLibc } from "@boxyard/core/libc";
import { O_CLOEXEC } from "./open-file.ts";

/*
 * The system calls that the runtime lacks, each with the one use the agent has for it. `Bun.spawn`'s own pipes are socket pairs, which a
 * program can't open again as /dev/stdout, and are read without bound; so the agent makes real ones. Loaded with `launch`.
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
 * Makes a pipe. `nonBlocking` names the end that is ours, so that the program's own end stays as programs expect it. A pipe of a program
 * belongs to the program's user, who may then open it again as /dev/stdout.
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
    // /etc/passwd may name ids that the sandbox does not have.
    closeQuietly(pipe.read);
    closeQuietly(pipe.write);
    throw error;
  }
  return pipe;
}

/** Lets a pipe hold more. Does nothing to what is no pipe, or where the user's pipes hold as much as they may. */
export function widenPipe(fd: number, bytes: number): void {
  libc().fcntl(fd, F_SETPIPE_SZ, bytes);
}

/** True when the kernel holds something for a reader of `fd`: bytes, or the news that nobody can write any more. */
export function hasPending(fd: number): boolean {
  const POLLIN = 1;
  const pollfd = new Int32Array([fd, POLLIN]); // struct pollfd, little-endian: wanted events in the low half of its second word
  return libc().poll(ptr(pollfd), 1, 0) > 0;
}

/** How many bytes the kernel holds for a reader of `fd`; 0 where it does not say. Of a terminal it counts the first few thousand only. */
export function pendingBytes(fd: number): number {
  const count = new Int32Array(1);
  return libc().ioctl(fd, FIONREAD, ptr(count)) < 0 ? 0 : Math.max(0, count[0] ?? 0);
}

/** Another descriptor of the same open file; the event loop watches each descriptor for one purpose only. */
export function duplicate(fd: number): number {
  const copy = libc().fcntl(fd, F_DUPFD_CLOEXEC, 3);
  if (copy < 0) throw new AppError("resource_exhausted", "the agent has no descriptor left", { reason: "no_descriptors" });
  return copy;
}

/** Closes what may be closed already. */
export function closeQuietly(fd: number): void {
  try {
    closeSync(fd);
  } catch {
    // Gone already, which is what we want.
  }
}
