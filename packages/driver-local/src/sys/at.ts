import { hasErrno, KernelError, O } from "./libc.ts";
import { syscall, trySyscall } from "./syscall.ts";

/**
 * System calls relative to an open directory, with one name at a time, for reading and writing untrusted trees. Names are **byte strings** (each
 * character one byte, `latin1`), since a file's name need not be UTF-8. No function follows a symbolic link in the last component, unless its
 * comment says so.
 */

const ENOENT = -2;
const EAGAIN = -11;
const ENODATA = -61;
const AT_SYMLINK_NOFOLLOW = 0x100;
const AT_EMPTY_PATH = 0x1000;
const AT_REMOVEDIR = 0x200;
const STATX_BASIC = 0x7ff;

export const S_IFMT = 0o170000;
export const TYPE = { fifo: 0o010000, char: 0o020000, directory: 0o040000, block: 0o060000, file: 0o100000, symlink: 0o120000 } as const;

/** How `openInside` resolves symbolic links: within the root, as after `chroot`, or not at all (an error). */
export const RESOLVE = { inRoot: 0x10 | 0x02, noLinks: 0x08 | 0x04 | 0x02 } as const;

/** A byte string with a NUL at its end. A NUL inside is refused, because the kernel would silently cut the name there. */
function raw(name: string): Uint8Array {
  if (name.includes("\0")) throw new KernelError("name with NUL", 22);
  return Buffer.from(`${name}\0`, "latin1");
}

export function openAt(dir: number, name: string, flags: number, mode = 0): number {
  return syscall("openat", [dir, raw(name), flags | O.CLOEXEC | O.NOFOLLOW, mode], name);
}

/** Runs `work` with the file `name` open for reading. `flags`: `O.DIRECTORY` for a directory. */
export function withOpen<T>(dir: number, name: string, flags: number, work: (fd: number) => T): T {
  const fd = openAt(dir, name, O.RDONLY | flags);
  try {
    return work(fd);
  } finally {
    syscall("close", [fd]);
  }
}

/** Opens a path below `root`, and never a file outside of it. Follows symbolic links as `resolve` says, also in the last component without `O.NOFOLLOW`. */
export function openInside(root: number, path: string, flags: number, resolve: number = RESOLVE.inRoot): number {
  const how = new BigUint64Array([BigInt(flags | O.CLOEXEC), 0n, BigInt(resolve)]);
  for (;;) {
    const fd = trySyscall("openat2", root, raw(path === "" ? "." : path), how, how.byteLength);
    // The kernel gives up when something is renamed meanwhile.
    if (fd === EAGAIN) continue;
    if (fd < 0) throw new KernelError(`open ${path}`, -fd);
    return fd;
  }
}

export interface Stat {
  /** Type and permissions, as in st_mode. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly nlink: number;
  readonly ino: bigint;
  readonly size: number;
  readonly mtimeSec: number;
  readonly mtimeNsec: number;
  /** Milliseconds since 1970. */
  readonly atimeMs: number;
  readonly ctimeMs: number;
  readonly rdevMajor: number;
  readonly rdevMinor: number;
}

const statBuffer = new Uint8Array(256);
const statView = new DataView(statBuffer.buffer);

/** A struct statx_timestamp. */
const millisecondsAt = (at: number): number =>
  Number(statView.getBigInt64(at, true)) * 1_000 + Math.floor(statView.getUint32(at + 8, true) / 1e6);

function statOf(): Stat {
  return {
    mode: statView.getUint16(28, true),
    uid: statView.getUint32(20, true),
    gid: statView.getUint32(24, true),
    nlink: statView.getUint32(16, true),
    ino: statView.getBigUint64(32, true),
    size: Number(statView.getBigUint64(40, true)),
    mtimeSec: Number(statView.getBigInt64(112, true)),
    mtimeNsec: statView.getUint32(120, true),
    atimeMs: millisecondsAt(64),
    ctimeMs: millisecondsAt(96),
    rdevMajor: statView.getUint32(128, true),
    rdevMinor: statView.getUint32(132, true),
  };
}

/** Undefined when there is no file of this name. */
export function statAt(dir: number, name: string): Stat | undefined {
  const result = trySyscall("statx", dir, raw(name), AT_SYMLINK_NOFOLLOW, STATX_BASIC, statBuffer);
  if (result === ENOENT) return undefined;
  if (result < 0) throw new KernelError(`stat ${name}`, -result);
  return statOf();
}

export function statFd(fd: number): Stat {
  syscall("statx", [fd, "", AT_EMPTY_PATH, STATX_BASIC, statBuffer]);
  return statOf();
}

export const typeOf = (stat: Stat): number => stat.mode & S_IFMT;
/** Overlay's mark that a name of the layers below is gone: a character device 0:0. */
export const isWhiteout = (stat: Stat): boolean => typeOf(stat) === TYPE.char && stat.rdevMajor === 0 && stat.rdevMinor === 0;

export function mkdirAt(dir: number, name: string, mode: number): void {
  syscall("mkdirat", [dir, raw(name), mode], name);
}

export function mknodAt(dir: number, name: string, mode: number): void {
  syscall("mknodat", [dir, raw(name), mode, 0], name);
}

export function symlinkAt(target: string, dir: number, name: string): void {
  syscall("symlinkat", [raw(target), dir, raw(name)], name);
}

export function readlinkAt(dir: number, name: string): string {
  const buffer = Buffer.alloc(4096);
  const length = syscall("readlinkat", [dir, raw(name), buffer, buffer.length], name);
  return buffer.toString("latin1", 0, length);
}

export function linkAt(fromDir: number, from: string, toDir: number, to: string): void {
  syscall("linkat", [fromDir, raw(from), toDir, raw(to), 0], to);
}

/** Gives the open file `fd`, which may have no name yet, a name. */
export function linkFd(fd: number, toDir: number, to: string): void {
  syscall("linkat", [fd, "", toDir, raw(to), AT_EMPTY_PATH], to);
}

const RENAME_NOREPLACE = 1;

/** EEXIST when there is something at `to`, unless it may be replaced. */
export function renameAt(fromDir: number, from: string, toDir: number, to: string, { replace = true } = {}): void {
  syscall("renameat2", [fromDir, raw(from), toDir, raw(to), replace ? 0 : RENAME_NOREPLACE], to);
}

export function unlinkAt(dir: number, name: string): void {
  syscall("unlinkat", [dir, raw(name), 0], name);
}

export function rmdirAt(dir: number, name: string): void {
  syscall("unlinkat", [dir, raw(name), AT_REMOVEDIR], name);
}

export function chownAt(dir: number, name: string, uid: number, gid: number): void {
  syscall("fchownat", [dir, raw(name), uid, gid, AT_SYMLINK_NOFOLLOW], name);
}

/** Only for files that are known not to be symbolic links: this call follows links. */
export function chmodAt(dir: number, name: string, mode: number): void {
  syscall("fchmodat", [dir, raw(name), mode], name);
}

export function fchown(fd: number, uid: number, gid: number): void {
  syscall("fchown", [fd, uid, gid]);
}

export function fchmod(fd: number, mode: number): void {
  syscall("fchmod", [fd, mode]);
}

const times = new BigInt64Array(4);

function setTimes(seconds: number, nanoseconds: number): BigInt64Array {
  times[0] = times[2] = BigInt(seconds);
  times[1] = times[3] = BigInt(nanoseconds);
  return times;
}

export function utimesAt(dir: number, name: string, seconds: number, nanoseconds = 0): void {
  syscall("utimensat", [dir, raw(name), setTimes(seconds, nanoseconds), AT_SYMLINK_NOFOLLOW], name);
}

export function utimesFd(fd: number, seconds: number, nanoseconds = 0): void {
  syscall("utimensat", [fd, null, setTimes(seconds, nanoseconds), 0]);
}

/** Removes a name with everything below it. */
export function removeTree(dir: number, name: string): void {
  const stat = statAt(dir, name);
  if (!stat) return;
  if (typeOf(stat) !== TYPE.directory) {
    unlinkAt(dir, name);
    return;
  }
  withOpen(dir, name, O.DIRECTORY, (fd) => {
    for (const child of namesIn(fd)) removeTree(fd, child);
  });
  rmdirAt(dir, name);
}

/** The names in an open directory, `.` and `..` left out, in the kernel's order: all, or `most` and those that came with them. */
export function namesIn(fd: number, most = Number.POSITIVE_INFINITY): string[] {
  return entriesIn(fd, most).map(({ name }) => name);
}

/** Names of the directories in an open directory, of a file system that tells types with names, as cgroups do. */
export const directoriesIn = (fd: number): string[] => entriesIn(fd).flatMap(({ name, type }) => (type === DT_DIR ? [name] : []));

/** The type of a directory in struct linux_dirent64. */
const DT_DIR = 4;

function entriesIn(fd: number, most = Number.POSITIVE_INFINITY): { readonly name: string; readonly type: number }[] {
  const entries: { name: string; type: number }[] = [];
  const buffer = Buffer.alloc(65_536);
  syscall("lseek", [fd, 0, 0]);
  for (;;) {
    const length = syscall("getdents64", [fd, buffer, buffer.length]);
    if (length === 0 || entries.length > most) return entries;
    for (let at = 0; at < length; at += buffer.readUInt16LE(at + 16)) {
      const end = buffer.indexOf(0, at + 19);
      const name = buffer.toString("latin1", at + 19, end);
      if (name !== "." && name !== "..") entries.push({ name, type: buffer.readUInt8(at + 18) });
    }
  }
}

/** Names of the extended attributes of the file behind `fd`. */
export function listXattrs(fd: number): string[] {
  for (let size = 1024; ; size *= 4) {
    const buffer = Buffer.alloc(size);
    const length = trySyscall("flistxattr", fd, buffer, buffer.length);
    if (length === -34) continue; // ERANGE
    if (length === -95) return []; // EOPNOTSUPP
    if (length < 0) throw new KernelError("flistxattr", -length);
    return buffer.toString("latin1", 0, length).split("\0").slice(0, -1);
  }
}

const valueBuffer = new Uint8Array(65_536);

/** Undefined when the file has no attribute of this name. */
export function getXattr(fd: number, name: string): Uint8Array | undefined {
  const length = trySyscall("fgetxattr", fd, raw(name), valueBuffer, valueBuffer.length);
  if (length === ENODATA) return undefined;
  if (length < 0) throw new KernelError(`fgetxattr ${name}`, -length);
  return valueBuffer.slice(0, length);
}

export function setXattr(fd: number, name: string, value: Uint8Array): void {
  syscall("fsetxattr", [fd, raw(name), value, value.byteLength, 0], name);
}

export function removeXattr(fd: number, name: string): void {
  try {
    syscall("fremovexattr", [fd, raw(name)], name);
  } catch (error) {
    if (!hasErrno(error, "ENODATA")) throw error;
  }
}

const FICLONE = 0x40049409;

/** Makes `to` (an empty file of the same file system) share all of `from`'s blocks. */
export function cloneFile(from: number, to: number): void {
  syscall("ioctl", [to, FICLONE, from], "FICLONE");
}

const POLLOUT = 4;

/** Writes all of `data`, blocking, also where Bun has made the descriptor non-blocking (as it does with standard streams). */
export function writeAll(fd: number, data: Uint8Array): void {
  for (let at = 0; at < data.length; ) {
    const written = trySyscall("write", fd, data.subarray(at), data.length - at);
    if (written === EAGAIN) trySyscall("ppoll", new Int32Array([fd, POLLOUT]), 1, null, null, 8);
    else if (written < 0) throw new KernelError("write", -written);
    else at += written;
  }
}

export function fsync(fd: number): void {
  syscall("fsync", [fd]);
}

export function syncFileSystem(fd: number): void {
  syscall("syncfs", [fd]);
}
