import { ptr } from "bun:ffi";
import { constants, fchmodSync, fchownSync, openSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { closeQuietly, duplicate, libc } from "../sys/native.ts";

const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const TIOCSWINSZ = 0x5414;
const O_CLOEXEC = 0o2000000;

export interface TerminalSize {
  readonly cols: number;
  readonly rows: number;
}

/** Both ends of a pseudo-terminal. The program gets `program`; the agent reads `read` and writes `write`, two descriptors of one master. */
export interface Terminal {
  readonly read: number;
  readonly write: number;
  readonly program: number;
}

const DEFAULT_SIZE: TerminalSize = { cols: 80, rows: 24 };
/** Two bytes each in the kernel. */
const MAX_SIDE = 0xffff;

/** Checks a size from a request; 0 or nothing means the usual 80 × 24. Throws `invalid_argument`. */
export function terminalSize(given: Partial<TerminalSize> | undefined): TerminalSize {
  const size = { cols: given?.cols || DEFAULT_SIZE.cols, rows: given?.rows || DEFAULT_SIZE.rows };
  if (size.cols > MAX_SIDE || size.rows > MAX_SIDE) {
    throw new AppError("invalid_argument", `a terminal has at most ${MAX_SIDE} columns and rows`, { reason: "bad_size" });
  }
  return size;
}

/** Opens a terminal whose program end belongs to the given user, as a login would leave it. Throws `invalid_argument` where there is none to be had. */
export function openTerminal(size: TerminalSize, owner: { uid: number; gid: number }): Terminal {
  let master: number;
  try {
    master = openSync("/dev/ptmx", constants.O_RDWR | constants.O_NOCTTY | constants.O_NONBLOCK | O_CLOEXEC);
  } catch (error) {
    throw new AppError("invalid_argument", "the sandbox has no terminal to give", { reason: "no_terminal", cause: error });
  }
  const opened = [master];
  try {
    libc().ioctl(master, TIOCSPTLCK, ptr(new Int32Array([0])));
    const program = libc().ioctl(master, TIOCGPTPEER, constants.O_RDWR | constants.O_NOCTTY | O_CLOEXEC);
    if (program < 0) throw new AppError("invalid_argument", "the sandbox has no terminal to give", { reason: "no_terminal" });
    opened.push(program);
    fchownSync(program, owner.uid, owner.gid);
    fchmodSync(program, 0o620);
    resizeTerminal(master, size);
    return { read: master, write: duplicate(master), program };
  } catch (error) {
    for (const fd of opened) closeQuietly(fd);
    throw error;
  }
}

/** Sets the size; the kernel tells the foreground programs with SIGWINCH. */
export function resizeTerminal(master: number, size: TerminalSize): void {
  libc().ioctl(master, TIOCSWINSZ, ptr(new Uint16Array([size.rows, size.cols, 0, 0])));
}
