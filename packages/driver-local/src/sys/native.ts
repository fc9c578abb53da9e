import { cc, dlopen, FFIType, ptr } from "bun:ffi";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The few lines of C that JavaScript cannot do without, compiled in memory at start by the TinyCC inside Bun (2 ms, no compiler needed on
 * the machine).
 *
 * - `by_call` returns `-errno`, so that nothing between the call and the reading of errno can change it.
 * - `by_child` runs a list of system calls in a short-lived child that shares our memory (as vfork does), because some can only be made by
 *   a process with one thread: entering a user namespace, or holding a new one. The child touches nothing but the list, and blocks every
 *   signal, since Bun's handlers must never run in it.
 */
const SOURCE = `
static long (*syscall)(long, ...);
static int *(*__errno_location)(void);
static int (*clone)(int (*)(void *), void *, int, void *, ...);
static int (*sigfillset)(void *);
static int (*sigemptyset)(void *);
static int (*pthread_sigmask)(int, const void *, void *);
static void *(*signal)(int, void *);
static void (*_exit)(int);

/* Takes the addresses of the functions above, in LIBC_FUNCTIONS' order. */
void by_bind(long *at) {
  syscall = (void *)at[0];
  __errno_location = (void *)at[1];
  clone = (void *)at[2];
  sigfillset = (void *)at[3];
  sigemptyset = (void *)at[4];
  pthread_sigmask = (void *)at[5];
  signal = (void *)at[6];
  _exit = (void *)at[7];
}

#ifdef __x86_64__
/* by_clone3(args, size, function, argument): in the child, on its new stack, the function is called and never returns. */
long by_clone3(void *, long, int (*)(void *), void *);
asm(".globl by_clone3\\n"
    "by_clone3:\\n"
    "  mov %rdx, %r8\\n"
    "  mov %rcx, %r9\\n"
    "  mov $435, %eax\\n"
    "  syscall\\n"
    "  test %rax, %rax\\n"
    "  jnz 1f\\n"
    "  xor %ebp, %ebp\\n"
    "  mov %r9, %rdi\\n"
    "  call *%r8\\n"
    "  hlt\\n"
    "1: ret\\n");
#endif

long by_call(long n, long a, long b, long c, long d, long e, long f) {
  long r = syscall(n, a, b, c, d, e, f);
  return r < 0 ? -(long)*__errno_location() : r;
}

/*
 * One system call of a child: argument k is replaced by the result of an earlier call when bit k of refs is set. Negative numbers are
 * deeds of our own, see SPECIAL in child.ts.
 */
struct op { long nr, args[6], refs, result; };
struct program { long count; struct op *ops; long next; };

/* What a program expects that is about to be executed. */
static void reset_signals(void) {
  char none[128];
  for (int s = 1; s <= 64; s++) signal(s, 0);
  sigemptyset(none);
  pthread_sigmask(2, none, 0);
}

static int run(void *arg);

/* Ends here and goes on in a sibling on the stack a[0] of a[1] bytes, born in the cgroup directory a[2]. */
static long go_on_in_cgroup(struct program *p, long i, long *a) {
#ifdef __x86_64__
  unsigned long args[11];
  for (int k = 0; k < 11; k++) args[k] = 0;
  args[0] = 0x200008100; /* CLONE_INTO_CGROUP, CLONE_PARENT, CLONE_VM */
  args[5] = a[0];
  args[6] = a[1];
  args[10] = a[2];
  p->next = i + 1;
  p->ops[i].result = by_clone3(args, sizeof args, run, p);
  _exit(p->ops[i].result < 0);
#endif
  return -38;
}

static int run(void *arg) {
  struct program *p = arg;
  for (long i = p->next; i < p->count; i++) {
    struct op *o = &p->ops[i];
    long a[6];
    for (int k = 0; k < 6; k++) a[k] = (o->refs >> k) & 1 ? p->ops[o->args[k]].result : o->args[k];
    if (o->nr == -1) {
      reset_signals();
      o->result = 0;
    } else if (o->nr == -2) {
      o->result = go_on_in_cgroup(p, i, a);
    } else if (o->nr == -3) { /* a[2] is read(2): the gate a[0] gives one byte, or its other end has gone */
      if (by_call(a[2], a[0], a[1], 1, 0, 0, 0) != 1) _exit(0);
      o->result = 0;
    } else if (o->nr == -4) {
      *(long *)a[0] = a[1];
      o->result = 0;
    } else {
      o->result = by_call(o->nr, a[0], a[1], a[2], a[3], a[4], a[5]);
    }
    if (o->result < 0) _exit(1);
  }
  _exit(0);
  return 0;
}

/*
 * Starts the child with the given clone flags and returns its pid or -errno. stack is a block of memory that outlives the child. With a
 * cgroup (an open directory, else -1) the child is born in it, which costs nothing; only clone3 can do that, which libc does not offer.
 */
long by_child(long flags, long ops, long count, long stack, long size, long program, long cgroup) {
  char all[128], old[128];
  struct program *p = (struct program *)program;
  p->count = count;
  p->ops = (struct op *)ops;
  p->next = 0;
  sigfillset(all);
  pthread_sigmask(0, all, old);
  long r = -38;
  if (cgroup < 0) {
    int pid = clone(run, (void *)(stack + size), (int)flags, p);
    r = pid < 0 ? -(long)*__errno_location() : pid;
  }
#ifdef __x86_64__
  else {
    unsigned long args[11];
    for (int i = 0; i < 11; i++) args[i] = 0;
    args[0] = (flags & ~255L) | 0x200000000; /* CLONE_INTO_CGROUP */
    args[4] = flags & 255;                   /* signal at its end */
    args[5] = stack;
    args[6] = size;
    args[10] = cgroup;
    r = by_clone3(args, sizeof args, run, p);
  }
#endif
  pthread_sigmask(2, old, 0);
  return r;
}
`;

const LIBC_FUNCTIONS = ["syscall", "__errno_location", "clone", "sigfillset", "sigemptyset", "pthread_sigmask", "signal", "_exit"] as const;

const WORD = FFIType.i64_fast;

/** Addresses of the C library's functions, from the one that Bun itself has loaded. */
function libcAddresses(): BigInt64Array {
  const { symbols } = dlopen("libc.so.6", { dlsym: { args: [FFIType.ptr, FFIType.cstring], returns: FFIType.u64 } });
  return new BigInt64Array(LIBC_FUNCTIONS.map((name) => symbols.dlsym(null, ptr(new TextEncoder().encode(`${name}\0`)))));
}

function compile() {
  // A file because cc() takes no text; a private directory because its content becomes our code.
  const directory = mkdtempSync(join(tmpdir(), "boxyard-native-"));
  try {
    const file = join(directory, "native.c");
    writeFileSync(file, SOURCE);
    const { by_bind, ...symbols } = cc({
      source: file,
      // Linking would need the C library's development files, which a user's machine lacks.
      flags: ["-nostdlib"],
      symbols: {
        by_bind: { args: [FFIType.ptr], returns: FFIType.void },
        by_call: { args: [WORD, WORD, WORD, WORD, WORD, WORD, WORD], returns: WORD },
        by_child: { args: [WORD, WORD, WORD, WORD, WORD, WORD, WORD], returns: WORD },
      },
    }).symbols;
    by_bind(ptr(libcAddresses()));
    return symbols;
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

let symbols: ReturnType<typeof compile> | undefined;

/** The compiled functions; compiled at first use. */
export function native(): ReturnType<typeof compile> {
  symbols ??= compile();
  return symbols;
}
