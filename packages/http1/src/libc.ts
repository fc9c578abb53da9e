import { dlopen, FFIType } from "bun:ffi";

/* The kernel's calls that Bun has no door to. */

function load() {
  return dlopen("libc.so.6", {
    splice: {
      args: [FFIType.i32, FFIType.ptr, FFIType.i32, FFIType.ptr, FFIType.u64_fast, FFIType.u32],
      returns: FFIType.i64_fast,
    },
    pipe2: { args: [FFIType.ptr, FFIType.i32], returns: FFIType.i32 },
    fcntl: { args: [FFIType.i32, FFIType.i32, FFIType.i32], returns: FFIType.i32 },
    read: { args: [FFIType.i32, FFIType.ptr, FFIType.u64_fast], returns: FFIType.i64_fast },
    setsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.u32], returns: FFIType.i32 },
    getsockopt: { args: [FFIType.i32, FFIType.i32, FFIType.i32, FFIType.ptr, FFIType.ptr], returns: FFIType.i32 },
  }).symbols;
}

let loaded: ReturnType<typeof load> | undefined;
let isMissing = false;

/** Undefined where the machine's libc is another one: then everything goes the ordinary way. */
export function libc(): ReturnType<typeof load> | undefined {
  if (loaded || isMissing) return loaded;
  try {
    loaded = load();
  } catch {
    isMissing = true;
  }
  return loaded;
}
