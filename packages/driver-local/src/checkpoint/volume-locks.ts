import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { AppError } from "@boxyard/core";
import type { ExternalMount, VolumeLock } from "../checkpoint-store/generation.ts";
import { openInside } from "../sys/at.ts";
import { close, hasErrno, O, syscall, trySyscall, withDirectory } from "../sys/libc.ts";
import { volumeOf } from "./mounts.ts";

/*
 * Locks of files of volumes, which other sandboxes may hold when processes are restored: CRIU waits for each lock until its time is over. So the driver looks
 * before whether all of them are free.
 */

/** Of more locks the first are looked at; the others CRIU waits for. */
const MAX_LOCKS = 1_000;
/** A line of /proc/<pid>/fdinfo/<fd>. */
const LINE = /^lock:\s+\d+: (FLOCK|POSIX) +\S+ +(READ|WRITE) \S+ \S+ (\d+) (\d+|EOF)$/gm;

/** Locks of the processes on files of volumes; none without volumes, whose processes are not looked at. */
export function volumeLocksOf(pids: readonly number[], mounts: readonly ExternalMount[]): VolumeLock[] {
  const volumes = mounts.flatMap(({ target, source }) => {
    const volume = volumeOf(source);
    return volume ? [{ target, id: volume.id }] : [];
  });
  if (volumes.length === 0) return [];
  const found = pids.flatMap((pid) => openFilesOf(pid).flatMap((fd) => locksOf(`/proc/${pid}`, fd, volumes)));
  return found.slice(0, MAX_LOCKS);
}

const openFilesOf = (pid: number): string[] => unlessEnded(() => readdirSync(`/proc/${pid}/fd`), []);

function locksOf(process: string, fd: string, volumes: readonly { readonly target: string; readonly id: string }[]): VolumeLock[] {
  const file = unlessEnded(() => readlinkSync(`${process}/fd/${fd}`), "");
  const volume = volumes.find(({ target }) => file.startsWith(`${target}/`));
  if (!volume || file.endsWith(" (deleted)")) return [];
  const info = unlessEnded(() => readFileSync(`${process}/fdinfo/${fd}`, "utf8"), "");
  return [...info.matchAll(LINE)].map(([, kind, access, start, end]) => ({
    volume: volume.id,
    path: file.slice(volume.target.length + 1),
    kind: kind === "FLOCK" ? "flock" : "posix",
    exclusive: access === "WRITE",
    start: Number(start),
    length: end === "EOF" ? 0 : Number(end) - Number(start) + 1,
  }));
}

function unlessEnded<T>(work: () => T, otherwise: T): T {
  try {
    return work();
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ESRCH")) return otherwise;
    throw error;
  }
}

/** Throws `failed_precondition`, reason `volume_locked`, when a lock is held by somebody else now. `diskOf`: path of a volume's subvolume. */
export function requireFree(locks: readonly VolumeLock[], diskOf: (id: string) => string): void {
  const held = locks.find((lock) => isHeld(lock, diskOf(lock.volume)));
  if (!held) return;
  const { volume, path } = held;
  const message = `A program in the sandbox had a lock of '${path}' of volume ${volume}, which another sandbox holds now: let that end, or start without memory`;
  throw new AppError("failed_precondition", message, { reason: "volume_locked", details: { volume, path } });
}

function isHeld(lock: VolumeLock, disk: string): boolean {
  try {
    const fd = withDirectory(disk, (root) => openInside(root, Buffer.from(lock.path).toString("latin1"), O.RDWR | O.NONBLOCK));
    try {
      return lock.kind === "flock" ? isFlocked(fd, lock) : isRangeLocked(fd, lock);
    } finally {
      close(fd);
    }
  } catch (error) {
    // A file that is gone: CRIU says so.
    if (hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EISDIR", "ENXIO")) return false;
    throw error;
  }
}

const LOCK = { shared: 1, exclusive: 2, now: 4 } as const;
const EAGAIN = -11;

/** Takes the lock for a moment: the end of the descriptor releases it. */
const isFlocked = (fd: number, { exclusive }: VolumeLock): boolean =>
  trySyscall("flock", fd, (exclusive ? LOCK.exclusive : LOCK.shared) | LOCK.now) === EAGAIN;

const F_OFD_GETLK = 36;
const RANGE = { shared: 0n, exclusive: 1n, free: 2n } as const;
const TYPE_BITS = 0xffffn;

function isRangeLocked(fd: number, { exclusive, start, length }: VolumeLock): boolean {
  // struct flock: type and whence (16 bits each), start, length, pid.
  const range = new BigInt64Array([exclusive ? RANGE.exclusive : RANGE.shared, BigInt(start), BigInt(length), 0n]);
  syscall("fcntl", [fd, F_OFD_GETLK, range]);
  return ((range[0] as bigint) & TYPE_BITS) !== RANGE.free;
}
