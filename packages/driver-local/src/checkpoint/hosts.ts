import { openInside, RESOLVE } from "../sys/at.ts";
import { close, hasErrno, O, open, syscall } from "../sys/libc.ts";

/** A larger file is nobody's /etc/hosts. */
const MOST_BYTES = 1 << 20;

/** What a sandbox's own files call it. */
export interface OwnNames {
  readonly address: string;
  /** Undefined: not known, and left as it is. */
  readonly hostname?: string | undefined;
}

/**
 * Puts a sandbox's new address and name into its /etc/hosts, in the lines that begin with the old address, and the name into an /etc/hostname
 * that holds the old one. The files are the sandbox's own by now: one that is a link, missing or something else stays as it is. `root`: the
 * sandbox's root directory, seen from outside; nothing of it runs.
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
