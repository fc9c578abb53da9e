import { ptr } from "bun:ffi";
import { KernelError } from "@boxyard/core/errno";
import { lazyLibc } from "@boxyard/core/libc";

/** The functions that `files/` uses, loaded at the first call (0.3 ms). */
export const libc = lazyLibc(
  ...(["listxattr", "getxattr", "fsetxattr", "fremovexattr", "ioctl", "copy_file_range", "sendfile", "utimensat", "lseek"] as const),
  ...(["inotify_init1", "inotify_add_watch", "inotify_rm_watch"] as const),
);

const encoder = new TextEncoder();

/** Text as a C string. The caller keeps the array in a variable until the call has returned. */
export function cstring(text: string): Uint8Array {
  if (text.includes("\0")) throw new KernelError("string with NUL", 22);
  return encoder.encode(`${text}\0`);
}

const PATH_BYTES = 8192;
let pathBytes: { readonly buffer: Uint8Array; readonly at: ReturnType<typeof ptr> } | undefined;

/** A path as a C string in a buffer that the next call overwrites, for calls with thousands of paths. Bytes where it is not UTF-8. */
export function pathPointer(path: string | Buffer): ReturnType<typeof ptr> {
  if (!pathBytes) {
    const buffer = new Uint8Array(PATH_BYTES);
    pathBytes = { buffer, at: ptr(buffer) };
  }
  const room = pathBytes.buffer.subarray(0, PATH_BYTES - 1);
  const { read: taken, written } = typeof path === "string" ? encoder.encodeInto(path, room) : copyInto(path, room);
  if (taken < path.length || path.includes("\0")) throw new KernelError("path", 36);
  pathBytes.buffer[written] = 0;
  return pathBytes.at;
}

function copyInto(path: Buffer, room: Uint8Array): { readonly read: number; readonly written: number } {
  const copied = path.copy(room);
  return { read: copied, written: copied };
}

export { errno } from "@boxyard/core/libc";
export { ptr };
