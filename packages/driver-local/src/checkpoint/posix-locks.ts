import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";

/*
 * Locks of fcntl (F_SETLK) in CRIU's images (criu/images/file-lock.proto). CRIU sets them before it maps files, and the kernel drops all
 * that a process has on a file when the process closes any descriptor of it, as CRIU does with a mapping's. So they have to be set again.
 */

/** A lock that a process had. */
export interface PosixLock {
  /** As the sandbox numbers it. */
  readonly pid: number;
  readonly fd: number;
  readonly type: "READ" | "WRITE";
  readonly start: bigint;
  /** 0: to the end of the file, however far that is. */
  readonly length: bigint;
}

const FILE = "filelocks.img";
/** Some thirty thousand locks: a resume reads them at once and sets each. What a sandbox holds must not keep the server for long. */
const MAX_BYTES = 2 ** 20;
/** Two numbers that name the kind of image. */
const HEAD_BYTES = 8;
const FIELD = { flag: 1, type: 2, pid: 3, fd: 4, start: 5, length: 6 } as const;
/** The kernel's FL_POSIX; the others (flock, open file descriptions) are not dropped. */
const FL_POSIX = 1n;
const TYPES = ["READ", "WRITE"] as const;

/** Throws `failed_precondition` where there are more than a resume sets again. */
export function checkLocksIn(images: string): void {
  const path = join(images, FILE);
  if (!existsSync(path) || statSync(path).size <= MAX_BYTES) return;
  throw new AppError("failed_precondition", "The sandbox's processes hold too many locks of files", { reason: "too_many_locks" });
}

/** Those in a directory of CRIU's images. */
export function posixLocksIn(images: string): PosixLock[] {
  const path = join(images, FILE);
  return existsSync(path) ? posixLocks(readFileSync(path)) : [];
}

/** The same, of the bytes of the image: messages, each with its length in 32 bits before it. */
export function posixLocks(image: Buffer): PosixLock[] {
  const locks: PosixLock[] = [];
  for (let at = HEAD_BYTES; at < image.length; ) {
    if (at + 4 > image.length) throw damaged();
    const end = at + 4 + image.readUInt32LE(at);
    if (end > image.length) throw damaged();
    const field = numbersIn(image.subarray(at + 4, end));
    const type = TYPES[Number(field(FIELD.type))];
    if (field(FIELD.flag) === FL_POSIX && type !== undefined) {
      const [pid, fd] = [Number(field(FIELD.pid)), Number(field(FIELD.fd))];
      locks.push({ pid, fd, type, start: field(FIELD.start), length: field(FIELD.length) });
    }
    at = end;
  }
  return locks;
}

/** The fields of a message that has nothing but numbers. */
function numbersIn(message: Buffer): (field: number) => bigint {
  const values = new Map<number, bigint>();
  for (let at = 0; at < message.length; ) {
    const tag = varintAt(message, at);
    const value = varintAt(message, tag.end);
    // The low three bits are the wire type; 0 is a number.
    if ((tag.value & 7n) !== 0n) throw damaged();
    values.set(Number(tag.value >> 3n), BigInt.asIntN(64, value.value));
    at = value.end;
  }
  return (field) => values.get(field) ?? 0n;
}

function varintAt(bytes: Buffer, start: number): { readonly value: bigint; readonly end: number } {
  let value = 0n;
  for (let at = start, shift = 0n; ; at++, shift += 7n) {
    const byte = bytes[at];
    if (byte === undefined || shift > 63n) throw damaged();
    value |= BigInt(byte & 127) << shift;
    if (byte < 128) return { value, end: at + 1 };
  }
}

const damaged = () => new AppError("data_loss", "The image of a sandbox's locks is damaged", { reason: "bad_snapshot" });
