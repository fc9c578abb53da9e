import { type Pointer, ptr } from "bun:ffi";
import { constants, fchmodSync, fchownSync, openSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { closeQuietly, duplicate, libc } from "../sys/native.ts";
import { O_CLOEXEC } from "../sys/open-file.ts";

const TIOCSPTLCK = 0x40045431;
const TIOCGPTPEER = 0x5441;
const TIOCGWINSZ = 0x5413;
const TIOCSWINSZ = 0x5414;
const TCGETS = 0x5401;
const TCSETS = 0x5402;
/** `TIOCGPTPEER` takes flags of an open where other requests take an address. */
const PEER_FLAGS = (constants.O_RDWR | constants.O_NOCTTY | O_CLOEXEC) as Pointer;
/** Input flag: erase removes a whole UTF-8 character. */
const IUTF8 = 0o40000;

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
/** The kernel keeps columns and rows in two bytes each. */
const MAX_SIDE = 0xffff;

/** Checks a size from a request; a dimension that is 0 or absent is that of `usual` (80 columns, 24 rows). Throws `invalid_argument`. */
export function terminalSize(given: Partial<TerminalSize> | undefined, usual = DEFAULT_SIZE): TerminalSize {
  const size = { cols: given?.cols || usual.cols, rows: given?.rows || usual.rows };
  if (size.cols > MAX_SIDE || size.rows > MAX_SIDE) {
    throw new AppError("invalid_argument", `a terminal has at most ${MAX_SIDE} columns and rows`, { reason: "bad_size" });
  }
  return size;
}

/** Opens a terminal whose program end belongs to the given user, with the mode of a login. Throws `invalid_argument` where the sandbox has no terminals. */
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
    const program = libc().ioctl(master, TIOCGPTPEER, PEER_FLAGS);
    if (program < 0) throw new AppError("invalid_argument", "the sandbox has no terminal to give", { reason: "no_terminal" });
    opened.push(program);
    fchownSync(program, owner.uid, owner.gid);
    fchmodSync(program, 0o620);
    resizeTerminal(master, size);
    expectUtf8(master);
    return { read: master, write: duplicate(master), program };
  } catch (error) {
    for (const fd of opened) closeQuietly(fd);
    throw error;
  }
}

/** Sets the given dimensions. When the size changes, the kernel sends SIGWINCH to the foreground process group. */
export function resizeTerminal(master: number, given: Partial<TerminalSize>): void {
  const now = new Uint16Array(4); // struct winsize: rows, columns, and two unused ones
  libc().ioctl(master, TIOCGWINSZ, ptr(now));
  const { cols, rows } = terminalSize(given, { cols: now[1] ?? 0, rows: now[0] ?? 0 });
  libc().ioctl(master, TIOCSWINSZ, ptr(new Uint16Array([rows, cols, 0, 0])));
}

/** Sets the terminal to UTF-8; the kernel's default is single bytes. */
function expectUtf8(master: number): void {
  const termios = new Uint32Array(9); // struct termios of the kernel; its first word are the input flags
  if (libc().ioctl(master, TCGETS, ptr(termios)) < 0) return;
  termios[0] = (termios[0] ?? 0) | IUTF8;
  libc().ioctl(master, TCSETS, ptr(termios));
}
