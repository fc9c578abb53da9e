import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { fieldsIn, messagesIn, numberIn } from "../criu/image-messages.ts";

/*
 * Locks of fcntl (F_SETLK) in CRIU's images (criu/images/file-lock.proto). CRIU sets them before it maps files. The kernel drops all locks of a process
 * on a file when the process closes any descriptor of that file, as CRIU does after mapping it. So the locks have to be set again.
 */

/** A lock that a process had. */
export interface PosixLock {
  /** In the sandbox's process namespace. */
  readonly pid: number;
  readonly fd: number;
  readonly type: "READ" | "WRITE";
  readonly start: bigint;
  /** 0: to the end of the file, however large it becomes. */
  readonly length: bigint;
}

const FILE = "filelocks.img";
/** Some thirty thousand locks: a resume reads them at once and sets each. More would block the server for too long. */
const MAX_BYTES = 2 ** 20;
const FIELD = { flag: 1, type: 2, pid: 3, fd: 4, start: 5, length: 6 } as const;
/** The kernel's FL_POSIX; locks of other kinds (flock, open file descriptions) are not dropped. */
const FL_POSIX = 1n;
const TYPES = ["READ", "WRITE"] as const;

/** Throws `failed_precondition`, reason `too_many_locks`, when there are more locks than a resume can set again. */
export function checkLocksIn(images: string): void {
  const path = join(images, FILE);
  if (!existsSync(path) || statSync(path).size <= MAX_BYTES) return;
  throw new AppError("failed_precondition", "The sandbox's processes hold too many locks of files", { reason: "too_many_locks" });
}

/** The locks in a directory of CRIU's images. */
export function posixLocksIn(images: string): PosixLock[] {
  const path = join(images, FILE);
  return existsSync(path) ? posixLocks(readFileSync(path)) : [];
}

/** As `posixLocksIn`, from the bytes of the image. */
export function posixLocks(image: Buffer): PosixLock[] {
  return messagesIn(image).flatMap((message) => {
    const fields = fieldsIn(message);
    if (fields.some(({ value }) => value === undefined)) throw damaged();
    const field = (number: number) => BigInt.asIntN(64, numberIn(fields, number));
    const type = TYPES[Number(field(FIELD.type))];
    if (field(FIELD.flag) !== FL_POSIX || type === undefined) return [];
    return { pid: Number(field(FIELD.pid)), fd: Number(field(FIELD.fd)), type, start: field(FIELD.start), length: field(FIELD.length) };
  });
}

const damaged = () => new AppError("data_loss", "The image of a sandbox's locks is damaged", { reason: "bad_snapshot" });
