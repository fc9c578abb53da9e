import { openInside, RESOLVE } from "../sys/at.ts";
import { close, hasErrno, O, open, syscall } from "../sys/libc.ts";

/** Larger files are left as they are. */
const MOST_BYTES = 1 << 20;

/** Name and address of a sandbox in its own files. */
export interface OwnNames {
  readonly address: string;
  /** Undefined: unknown, and left as it is. */
  readonly hostname?: string | undefined;
}

/**
 * Replaces a sandbox's old address and name in its /etc/hosts, in the lines that begin with the old address, and the old name in /etc/hostname.
 * Programs of the sandbox may have changed these files: one that is a link, is missing or has other content stays as it is. `root`: the sandbox's
 * root directory, as seen from outside; no process of the sandbox runs meanwhile.
 */
export function changeNames(root: string, from: OwnNames, to: OwnNames): void {
  const rootFd = open(root, O.RDONLY | O.DIRECTORY);
  const hasNewName = from.hostname !== undefined && to.hostname !== undefined && from.hostname !== to.hostname;
  try {
    change(rootFd, "etc/hosts", (text) =>
      text
        .split("\n")
        .map((line) => changeLine(line, from, to))
        .join("\n"),
    );
    if (hasNewName) change(rootFd, "etc/hostname", (text) => (text.trim() === from.hostname ? `${to.hostname}\n` : text));
  } finally {
    close(rootFd);
  }
}

function changeLine(line: string, from: OwnNames, to: OwnNames): string {
  const [address, ...names] = line.split(/(\s+)/);
  if (address !== from.address) return line;
  return [to.address, ...names.map((name) => (name === from.hostname ? (to.hostname ?? name) : name))].join("");
}

function change(rootFd: number, path: string, rewrite: (text: string) => string): void {
  try {
    const fd = openInside(rootFd, path, O.RDWR | O.NOFOLLOW | O.NONBLOCK, RESOLVE.noLinks);
    try {
      rewriteFile(fd, path, rewrite);
    } finally {
      close(fd);
    }
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EXDEV", "ENXIO", "EISDIR", "EACCES", "EPERM", "ETXTBSY")) throw error;
  }
}

function rewriteFile(fd: number, path: string, rewrite: (text: string) => string): void {
  const buffer = new Uint8Array(MOST_BYTES);
  const length = syscall("pread64", [fd, buffer, buffer.byteLength, 0], path);
  if (length === MOST_BYTES) return;
  const text = Buffer.from(buffer.subarray(0, length)).toString("latin1");
  const changed = rewrite(text);
  if (changed === text) return;
  const bytes = Buffer.from(changed, "latin1");
  syscall("lseek", [fd, 0, 0], path);
  syscall("write", [fd, bytes, bytes.byteLength], path);
  syscall("ftruncate", [fd, bytes.byteLength], path);
}
