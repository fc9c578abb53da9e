import { ptr } from "bun:ffi";
import { errno } from "@boxyard/core/libc";
import { libc } from "./libc.ts";

/*
 * Moves bytes from one socket to another without copying them to this process: splice(2) through a pipe. That takes half of the CPU of reading and
 * writing them; most of the rest is the kernel's own work for the two connections.
 *
 * One pipe serves all connections, because it is empty when a call returns. The kernel tells an error of a socket once: after a splice that has failed, the
 * next ordinary read says that the peer has ended as it should. So the caller is told which socket is broken.
 */

/** Bytes that are moved at a time; also the most that is read back when the target is full. */
const PIPE_BYTES = 256 << 10;
const F_SETPIPE_SZ = 1031;
const O_NONBLOCK = 0o4000;
const O_CLOEXEC = 0o2000000;
const SPLICE_MOVE_NONBLOCK = 3;
/**
 * Errors of a splice after which both sockets still work: EPERM, EINTR, EAGAIN, ENOMEM, EINVAL, ENOSYS. The socket has no bytes or no room now, the kernel
 * is short of memory, or it allows no splice here (a seccomp filter, a kernel without splice).
 */
const NOT_BROKEN = new Set([1, 4, 11, 12, 22, 38]);

interface Pipe {
  readonly read: number;
  readonly write: number;
}

let pipe: Pipe | undefined;

/** The pipe and the system calls. Undefined where libc is missing, or no pipe can be made. */
function kernel(): { readonly calls: NonNullable<ReturnType<typeof libc>>; readonly pipe: Pipe } | undefined {
  const calls = libc();
  if (!calls) return undefined;
  pipe ??= openPipe(calls);
  return pipe && { calls, pipe };
}

function openPipe(calls: NonNullable<ReturnType<typeof libc>>): Pipe | undefined {
  const ends = new Int32Array(2);
  if (calls.pipe2(ptr(ends), O_NONBLOCK | O_CLOEXEC) < 0) return undefined;
  const [read = -1, write = -1] = ends;
  // Fails at the user's limit of pipe memory; the smaller pipe works too.
  calls.fcntl(read, F_SETPIPE_SZ, PIPE_BYTES);
  return { read, write };
}

/** Bytes in a buffer that is reused after `release`. */
export interface Borrowed {
  readonly bytes: Uint8Array;
  release(): void;
}

export interface Moved {
  /** Bytes taken from the source. */
  readonly taken: number;
  /** The last of them, which the target did not take: the caller writes and releases them. */
  readonly rest: Borrowed | undefined;
  /** The socket that has failed: its peer has reset the connection, or is lost. */
  readonly broken?: "source" | "target";
}

/** Buffers for reuse: a target that is slower than its source leaves a rest each time, gigabytes in all. */
const spare: Uint8Array[] = [];
const MAX_SPARE = 16;

function borrow(count: number): Borrowed {
  const whole = spare.pop() ?? Buffer.allocUnsafeSlow(PIPE_BYTES);
  return {
    bytes: whole.subarray(0, count),
    release: () => {
      if (spare.length < MAX_SPARE) spare.push(whole);
    },
  };
}

/** Moves up to `limit` bytes of what the source's socket holds into the target's. Never blocks. Throws when bytes were lost. */
export function moveInKernel(source: number, target: number, limit: number): Moved {
  const loaded = kernel();
  let taken = 0;
  if (!loaded || source < 0 || target < 0) return { taken, rest: undefined };
  const { calls, pipe } = loaded;
  while (taken < limit) {
    const count = Number(calls.splice(source, null, pipe.write, null, Math.min(limit - taken, PIPE_BYTES), SPLICE_MOVE_NONBLOCK));
    if (count < 0 && hasFailed()) return { taken, rest: undefined, broken: "source" };
    if (count <= 0) break;
    taken += count;
    for (let left = count; left > 0; ) {
      const sent = Number(calls.splice(pipe.read, null, target, null, left, SPLICE_MOVE_NONBLOCK));
      const broken = sent < 0 && hasFailed();
      if (sent <= 0) return { taken, rest: readUnsent(left), ...(broken && { broken: "target" }) };
      left -= sent;
    }
  }
  return { taken, rest: undefined };
}

/** Whether the socket of the call that returned a negative number is broken; of other failures an ordinary read or write goes on. */
const hasFailed = (): boolean => !NOT_BROKEN.has(errno());

function readUnsent(count: number): Borrowed {
  const { calls, pipe } = kernel() as NonNullable<ReturnType<typeof kernel>>;
  const borrowed = borrow(count);
  for (let at = 0; at < count; ) {
    const got = Number(calls.read(pipe.read, ptr(borrowed.bytes, at), count - at));
    if (got <= 0) throw new Error("bytes in the pipe of a splice were lost");
    at += got;
  }
  return borrowed;
}
