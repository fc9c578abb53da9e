import { dlopen, FFIType, type Pointer, read } from "bun:ffi";

/*
 * Functions of the C library that Bun lacks. All are declared here; a package loads those that it uses.
 *
 * errno: its address is asked once and read with a plain memory read directly after the call, with no allocation in between, so that
 * nothing of the engine can set it first. The address is of this thread; each worker loads this module for itself.
 */

const { i32, u32, u64, u64_fast, i64, i64_fast, ptr } = FFIType;

const FUNCTIONS = {
  __errno_location: { args: [], returns: ptr },
  connect: { args: [i32, ptr, u32], returns: i32 },
  copy_file_range: { args: [i32, ptr, i32, ptr, u64_fast, u32], returns: i64_fast },
  fcntl: { args: [i32, i32, i64], returns: i32 },
  fremovexattr: { args: [i32, ptr], returns: i32 },
  fsetxattr: { args: [i32, ptr, ptr, u64_fast, i32], returns: i32 },
  getsockopt: { args: [i32, i32, i32, ptr, ptr], returns: i32 },
  getxattr: { args: [ptr, ptr, ptr, u64_fast], returns: i64_fast },
  inotify_add_watch: { args: [i32, ptr, u32], returns: i32 },
  inotify_init1: { args: [i32], returns: i32 },
  inotify_rm_watch: { args: [i32, i32], returns: i32 },
  ioctl: { args: [i32, u64, ptr], returns: i32 },
  kill: { args: [i32, i32], returns: i32 },
  listxattr: { args: [ptr, ptr, u64_fast], returns: i64_fast },
  lseek: { args: [i32, i64_fast, i32], returns: i64_fast },
  memfd_create: { args: [ptr, u32], returns: i32 },
  pipe2: { args: [ptr, i32], returns: i32 },
  poll: { args: [ptr, u64, i32], returns: i32 },
  prctl: { args: [i32, u64, u64, u64, u64], returns: i32 },
  read: { args: [i32, ptr, u64_fast], returns: i64_fast },
  sendfile: { args: [i32, i32, ptr, u64_fast], returns: i64_fast },
  sendmsg: { args: [i32, ptr, i32], returns: i64_fast },
  setgid: { args: [u32], returns: i32 },
  setgroups: { args: [u64, ptr], returns: i32 },
  setsockopt: { args: [i32, i32, i32, ptr, u32], returns: i32 },
  setuid: { args: [u32], returns: i32 },
  socket: { args: [i32, i32, i32], returns: i32 },
  socketpair: { args: [i32, i32, i32, ptr], returns: i32 },
  splice: { args: [i32, ptr, i32, ptr, u64_fast, u32], returns: i64_fast },
  syscall: { args: [i64_fast, i64_fast, i64_fast, i64_fast, i64_fast, i64_fast, i64_fast], returns: i64_fast },
  utimensat: { args: [i32, ptr, ptr, i32], returns: i32 },
} as const;

type FunctionName = keyof typeof FUNCTIONS;

let errnoAt: Pointer | undefined;

/** Loads the functions together with `__errno_location`, because a second load would cost as much as the first. */
function load<Name extends FunctionName>(names: readonly Name[]) {
  const { __errno_location } = FUNCTIONS;
  const wanted = Object.fromEntries(names.map((name) => [name, FUNCTIONS[name]])) as Pick<typeof FUNCTIONS, Name>;
  const { symbols } = dlopen("libc.so.6", { ...wanted, __errno_location });
  // Whichever names were asked for, this one is among them.
  errnoAt ??= (symbols as unknown as { __errno_location(): Pointer | null }).__errno_location() ?? undefined;
  if (errnoAt === undefined) throw new Error("libc gives no errno");
  return symbols;
}

/**
 * Gives the named functions, loaded at first use: each costs some microseconds, so that a caller names only those that it uses. Pair every
 * failing result with `errno()` at once.
 */
export function lazyLibc<const Name extends FunctionName>(...names: readonly Name[]): () => ReturnType<typeof load<Name>> {
  let loaded: ReturnType<typeof load<Name>> | undefined;
  return () => {
    loaded ??= load(names);
    return loaded;
  };
}

/** As `lazyLibc`, but gives undefined on a machine with another C library. */
export function lazyLibcIfThere<const Name extends FunctionName>(
  ...names: readonly Name[]
): () => ReturnType<typeof load<Name>> | undefined {
  const libc = lazyLibc(...names);
  let isMissing = false;
  return () => {
    if (isMissing) return undefined;
    try {
      return libc();
    } catch {
      isMissing = true;
      return undefined;
    }
  };
}

/** The errno of the call that just failed. */
export function errno(): number {
  return errnoAt === undefined ? 0 : read.i32(errnoAt, 0);
}
