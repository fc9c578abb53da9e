import { ptr } from "bun:ffi";
import { closeSync, writeSync } from "node:fs";
import { errno } from "@boxyard/core/libc";
import { libc } from "./native.ts";

/*
 * A socket that passes descriptors to another process, unix(7) and cmsg(3). The layouts are those of 64-bit Linux, the same on every architecture
 * that the agent is built for.
 */

const AF_UNIX = 1;
const SOCK_SEQPACKET = 5;
const SOCK_CLOEXEC = 0o2000000;
const SOL_SOCKET = 1;
const SCM_RIGHTS = 1;
const MSG_DONTWAIT = 0x40;
const MSG_NOSIGNAL = 0x4000;
const MFD_CLOEXEC = 1;

/** struct cmsghdr: its length with the data (8 bytes), level, type. */
const CONTROL_HEAD = 16;
const MAX_DESCRIPTORS = 4;

// Buffers of a message, made once: messages are sent one at a time, and the buffers never move in memory.
function makeParts() {
  const part = new BigUint64Array(2);
  const control = new DataView(new ArrayBuffer(CONTROL_HEAD + MAX_DESCRIPTORS * 4));
  control.setInt32(8, SOL_SOCKET, true);
  control.setInt32(12, SCM_RIGHTS, true);
  const message = new BigUint64Array(7);
  message[2] = BigInt(ptr(part));
  message[3] = 1n;
  message[4] = BigInt(ptr(control));
  return { part, control, message };
}

let made: ReturnType<typeof makeParts> | undefined;

/** Both ends of a SOCK_SEQPACKET socket. Undefined at the limit of descriptors. */
export function packetSocket(): readonly [ours: number, theirs: number] | undefined {
  const ends = new Int32Array(2);
  if (libc().socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ptr(ends)) < 0) return undefined;
  return [ends[0] ?? -1, ends[1] ?? -1];
}

/** Sends one packet with up to four descriptors, which the caller still closes. Never blocks. Returns 0 or the errno. */
export function sendPacket(socket: number, bytes: Uint8Array, descriptors: readonly number[]): number {
  made ??= makeParts();
  const { part, control, message } = made;
  part[0] = BigInt(ptr(bytes));
  part[1] = BigInt(bytes.length);
  const length = CONTROL_HEAD + descriptors.length * 4;
  control.setBigUint64(0, BigInt(length), true);
  for (const [at, fd] of descriptors.entries()) control.setInt32(CONTROL_HEAD + at * 4, fd, true);
  message[5] = BigInt(length);
  const sent = libc().sendmsg(socket, ptr(message), MSG_DONTWAIT | MSG_NOSIGNAL);
  return sent < 0 ? errno() : 0;
}

const NAME = new TextEncoder().encode("order\0");

/** A file in memory (memfd) with these bytes; undefined when it cannot be made. */
export function memoryFile(bytes: Uint8Array): number | undefined {
  const fd = libc().memfd_create(ptr(NAME), MFD_CLOEXEC);
  if (fd < 0) return undefined;
  try {
    for (let at = 0; at < bytes.length; ) at += writeSync(fd, bytes, at);
    return fd;
  } catch {
    closeSync(fd);
    return undefined;
  }
}
