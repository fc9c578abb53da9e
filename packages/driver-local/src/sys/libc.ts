import { KernelError } from "@boxyard/core/errno";
import type { SyscallArg } from "./syscall.ts";
import { syscall, trySyscall } from "./syscall.ts";

export { KernelError } from "@boxyard/core/errno";
export { hasErrno } from "./errors.ts";
export { NUMBERS, type SyscallName } from "./numbers.ts";
export { cstring, type SyscallArg, syscall, trySyscall } from "./syscall.ts";

/**
 * The kernel's interface in TypeScript: thin, synchronous, one function per system call; failures are `KernelError`s with an errno name
 * in `code`. Every descriptor made here is close-on-exec, so that no child of ours ever inherits one.
 */

export const AT_FDCWD = -100;
export const O = {
  RDONLY: 0,
  WRONLY: 1,
  RDWR: 2,
  CREAT: 0o100,
  EXCL: 0o200,
  NONBLOCK: 0o4000,
  CLOEXEC: 0o2000000,
  PATH: 0o10000000,
  // These differ between architectures.
  DIRECTORY: process.arch === "arm64" ? 0o40000 : 0o200000,
  /** A file without a name in the directory; has the bit of O_DIRECTORY in it. */
  TMPFILE: 0o20000000 | (process.arch === "arm64" ? 0o40000 : 0o200000),
  NOFOLLOW: process.arch === "arm64" ? 0o100000 : 0o400000,
} as const;

export const MS = {
  RDONLY: 0x1,
  NOSUID: 0x2,
  NODEV: 0x4,
  NOEXEC: 0x8,
  REMOUNT: 0x20,
  NOATIME: 0x400,
  BIND: 0x1000,
  REC: 0x4000,
  PRIVATE: 0x40000,
  SHARED: 0x100000,
} as const;

export const MNT_DETACH = 2;
const UMOUNT_NOFOLLOW = 8;

export const OPEN_TREE_CLONE = 1;
export const OPEN_TREE_CLOEXEC = O.CLOEXEC;
export const AT_EMPTY_PATH = 0x1000;
export const AT_RECURSIVE = 0x8000;
export const MOVE_MOUNT_F_EMPTY_PATH = 4;
export const MOVE_MOUNT_T_EMPTY_PATH = 0x40;
export const MOUNT_ATTR = { RDONLY: 0x1, NOSUID: 0x2, NODEV: 0x4, NOEXEC: 0x8, IDMAP: 0x100000 } as const;

export const CLONE = {
  NEWNS: 0x20000,
  NEWUTS: 0x4000000,
  NEWUSER: 0x10000000,
  NEWNET: 0x40000000,
} as const;

/** Opens a path; O_CLOEXEC is added. A relative path starts from the directory `dirFd`. */
export function open(path: string, flags: number, mode = 0, dirFd: number = AT_FDCWD): number {
  return syscall("openat", [dirFd, path, flags | O.CLOEXEC, mode], path);
}

/** Makes a directory. Throws EEXIST when there is something at the path. */
export function mkdir(path: string, mode: number): void {
  syscall("mkdirat", [AT_FDCWD, path, mode], path);
}

/** Closes a descriptor. A number that is not open is a bug of the caller and throws EBADF. */
export function close(fd: number): void {
  syscall("close", [fd], String(fd));
}

/** Runs `work` with a directory open for reading. */
export function withDirectory<T>(path: string, work: (fd: number) => T): T {
  const fd = open(path, O.RDONLY | O.DIRECTORY);
  try {
    return work(fd);
  } finally {
    close(fd);
  }
}

const F_DUPFD_CLOEXEC = 1030;
const STDIO = 3;

/** The two ends of a pipe. Never descriptors 0 to 2, which programs use as standard streams. `flags`: O.NONBLOCK. */
export function pipe(flags = 0): { readonly read: number; readonly write: number } {
  const fds = new Int32Array(2);
  syscall("pipe2", [fds, flags | O.CLOEXEC]);
  return { read: aboveStdio(fds[0] as number), write: aboveStdio(fds[1] as number) };
}

function aboveStdio(fd: number): number {
  if (fd >= STDIO) return fd;
  const moved = syscall("fcntl", [fd, F_DUPFD_CLOEXEC, STDIO]);
  close(fd);
  return moved;
}

export function mount(source: string, target: string, type: string | null, flags: number, data: string | null = null): void {
  syscall("mount", [source, target, type, flags, data], target);
}

export function umount2(target: string, flags = 0): void {
  syscall("umount2", [target, flags | UMOUNT_NOFOLLOW], target);
}

/** Moves **this thread** into a namespace. User namespaces can't be entered by a process with threads: see `ForkServer`. */
export function setns(fd: number, nstype: number): void {
  syscall("setns", [fd, nstype]);
}

/** Moves this thread into new namespaces. Only for NEWNET, NEWUTS and the like; return to the old one with `setns`. */
export function unshare(flags: number): void {
  syscall("unshare", [flags]);
}

/** Runs `work` (synchronously) with this thread in the network namespace of descriptor `fd`. The thread returns also when `work` throws. */
export function inNetworkNamespace<T>(fd: number, work: () => T): T {
  const own = open("/proc/thread-self/ns/net", O.RDONLY);
  try {
    setns(fd, CLONE.NEWNET);
    try {
      return work();
    } finally {
      setns(own, CLONE.NEWNET);
    }
  } finally {
    close(own);
  }
}

export function ioctl(fd: number, request: number, arg: SyscallArg = 0, what = ""): number {
  return syscall("ioctl", [fd, request, arg], what);
}

const SOCK_CLOEXEC = 0o2000000;

export function socket(domain: number, type: number, protocol: number): number {
  return syscall("socket", [domain, type | SOCK_CLOEXEC, protocol]);
}

export function bind(fd: number, address: Uint8Array): void {
  syscall("bind", [fd, address, address.byteLength]);
}

export function setsockopt(fd: number, level: number, option: number, value: Uint8Array | Int32Array): void {
  syscall("setsockopt", [fd, level, option, value, value.byteLength]);
}

/** Sends `data`; `address` is a sockaddr or null for a connected (or netlink) socket. Returns the bytes sent. */
export function sendto(fd: number, data: Uint8Array, flags = 0, address: Uint8Array | null = null): number {
  return syscall("sendto", [fd, data, data.byteLength, flags, address, address?.byteLength ?? 0]);
}

/** Receives into `buffer`; returns the bytes received. Blocks unless the socket or `flags` (MSG_DONTWAIT 0x40) say otherwise. */
export function recv(fd: number, buffer: Uint8Array, flags = 0): number {
  return syscall("recvfrom", [fd, buffer, buffer.byteLength, flags, null, null]);
}

/** A descriptor of a process, which never refers to a later process with the same pid. Throws ESRCH when there is none. */
export function pidfdOpen(pid: number): number {
  return syscall("pidfd_open", [pid, 0], String(pid));
}

/** Sends a signal by number; 0 only checks whether the process exists. */
export function pidfdSendSignal(pidfd: number, signal: number): void {
  syscall("pidfd_send_signal", [pidfd, signal, null, 0]);
}

/** True when the process behind `pidfd` has ended. Never blocks. */
export function pidfdEnded(pidfd: number): boolean {
  const set = new Int32Array([pidfd, 1]); // struct pollfd: events = POLLIN in the low half of the second word (little-endian)
  const zero = new BigInt64Array(2);
  return trySyscall("ppoll", set, 1, zero, null, 8) > 0;
}

/** Value of an extended attribute; undefined when there is none. */
export function getxattr(path: string, name: string, follow = true): Uint8Array | undefined {
  const buffer = new Uint8Array(65536);
  const length = trySyscall(follow ? "getxattr" : "lgetxattr", path, name, buffer, buffer.byteLength);
  if (length === -61) return undefined; // ENODATA
  if (length < 0) throw new KernelError(`getxattr ${path}`, -length);
  return buffer.slice(0, length);
}

export function setxattr(path: string, name: string, value: Uint8Array, follow = true): void {
  syscall(follow ? "setxattr" : "lsetxattr", [path, name, value, value.byteLength, 0], path);
}
