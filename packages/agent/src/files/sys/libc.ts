import { dlopen, FFIType, ptr, read } from "bun:ffi";
import { SysError } from "./errno.ts";

/*
 * The few calls that Bun lacks, straight from libc. Loaded at first use (0.3 ms), so that an agent which never needs them does not pay.
 *
 * errno: its address is asked once and read with a plain memory read directly after the call, with no allocation in between, so that
 * nothing of the engine can set it first. One thread only; a worker would need an address of its own.
 */

function load() {
  const { symbols } = dlopen("libc.so.6", {
    __errno_location: { args: [], returns: FFIType.ptr },
    listxattr: { args: [FFIType.ptr, FFIType.ptr, FFIType.u64_fast], returns: FFIType.i64_fast },
    getxattr: { args: [FFIType.ptr, FFIType.ptr, FFIType.ptr, FFIType.u64_fast], returns: FFIType.i64_fast },
    fsetxattr: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr, FFIType.u64_fast, FFIType.i32], returns: FFIType.i32 },
    fremovexattr: { args: [FFIType.i32, FFIType.ptr], returns: FFIType.i32 },
    ioctl: { args: [FFIType.i32, FFIType.u64_fast, FFIType.ptr], returns: FFIType.i32 },
    copy_file_range: {
      args: [FFIType.i32, FFIType.ptr, FFIType.i32, FFIType.ptr, FFIType.u64_fast, FFIType.u32],
      returns: FFIType.i64_fast,
    },
    sendfile: { args: [FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u64_fast], returns: FFIType.i64_fast },
    utimensat: { args: [FFIType.i32, FFIType.ptr, FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    lseek: { args: [FFIType.i32, FFIType.i64_fast, FFIType.i32], returns: FFIType.i64_fast },
    inotify_init1: { args: [FFIType.i32], returns: FFIType.i32 },
    inotify_add_watch: { args: [FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    inotify_rm_watch: { args: [FFIType.i32, FFIType.i32], returns: FFIType.i32 },
  });
  const errno = symbols.__errno_location();
  if (errno === null) throw new Error("libc gives no errno");
  return { symbols, errno };
}

type Loaded = ReturnType<typeof load>;
let loaded: Loaded | undefined;

/** The functions, loaded at first use. Pair every failing result with `errno()` at once. */
export function libc(): Loaded["symbols"] {
  loaded ??= load();
  return loaded.symbols;
}

/** The number of the call that just failed. */
export function errno(): number {
  return loaded ? read.i32(loaded.errno, 0) : 0;
}

const encoder = new TextEncoder();

/** Text as a C string. The caller keeps the array in a variable until the call has returned. */
export function cstring(text: string): Uint8Array {
  if (text.includes("\0")) throw new SysError("string with NUL", 22);
  return encoder.encode(`${text}\0`);
}

const PATH_BYTES = 8192;
let pathBytes: { readonly buffer: Uint8Array; readonly at: ReturnType<typeof ptr> } | undefined;

/** A path as a C string in memory that the next call overwrites; for calls that are made for thousands of paths. Bytes where it is no text. */
export function pathPointer(path: string | Buffer): ReturnType<typeof ptr> {
  if (!pathBytes) {
    const buffer = new Uint8Array(PATH_BYTES);
    pathBytes = { buffer, at: ptr(buffer) };
  }
  const room = pathBytes.buffer.subarray(0, PATH_BYTES - 1);
  const { read: taken, written } = typeof path === "string" ? encoder.encodeInto(path, room) : copyInto(path, room);
  if (taken < path.length || path.includes("\0")) throw new SysError("path", 36);
  pathBytes.buffer[written] = 0;
  return pathBytes.at;
}

function copyInto(path: Buffer, room: Uint8Array): { readonly read: number; readonly written: number } {
  const copied = path.copy(room);
  return { read: copied, written: copied };
}

export { ptr };
