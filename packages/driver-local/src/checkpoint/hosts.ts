import { openInside, RESOLVE } from "../sys/at.ts";
import { close, hasErrno, O, open, syscall } from "../sys/libc.ts";

/** A larger file is nobody's /etc/hosts. */
const MOST_BYTES = 1 << 20;

/**
 * Puts a sandbox's new address into its /etc/hosts, in the lines that begin with the old one. The file is the sandbox's own by now: one that
 * is a link, missing or something else stays as it is. `root`: the sandbox's root directory, seen from outside; nothing of it runs.
 */
export function changeAddress(root: string, from: string, to: string): void {
  const rootFd = open(root, O.RDONLY | O.DIRECTORY);
  try {
    const fd = openInside(rootFd, "etc/hosts", O.RDWR | O.NOFOLLOW | O.NONBLOCK, RESOLVE.noLinks);
    try {
      rewrite(fd, from, to);
    } finally {
      close(fd);
    }
  } catch (error) {
    if (!hasErrno(error, "ENOENT", "ENOTDIR", "ELOOP", "EXDEV", "ENXIO", "EISDIR", "EACCES", "EPERM", "ETXTBSY")) throw error;
  } finally {
    close(rootFd);
  }
}

function rewrite(fd: number, from: string, to: string): void {
  const buffer = new Uint8Array(MOST_BYTES);
  const length = syscall("pread64", [fd, buffer, buffer.byteLength, 0], "etc/hosts");
  if (length === MOST_BYTES) return;
  const text = Buffer.from(buffer.subarray(0, length)).toString("latin1");
  const changed = text
    .split("\n")
    .map((line) => (/^\S+/.exec(line)?.[0] === from ? to + line.slice(from.length) : line))
    .join("\n");
  if (changed === text) return;
  const bytes = Buffer.from(changed, "latin1");
  syscall("lseek", [fd, 0, 0], "etc/hosts");
  syscall("write", [fd, bytes, bytes.byteLength], "etc/hosts");
  syscall("ftruncate", [fd, bytes.byteLength], "etc/hosts");
}
