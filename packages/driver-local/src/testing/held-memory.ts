/*
 * Attempts to take the machine's memory by system calls that hold memory of the kernel's for as long as they wait: as many threads as there can be
 * make the same call. What a call refuses is tried with the most that it takes.
 */

export const KINDS = [
  "poll",
  "ppoll",
  "select",
  "pselect6",
  "readv",
  "recvmsg",
  "control",
  "futexes",
  "attributes",
  "epoll",
  "messages",
  "semaphores",
] as const;
export type Kind = (typeof KINDS)[number];

/** Prints `holds` and the number of threads when all of them wait. */
export const holding = (kind: Kind): string => `
import array, ctypes, os, platform, resource, select, socket, struct, threading, time
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
threading.stack_size(65536)
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
if not os.path.exists("/tmp/fifo"): os.mkfifo("/tmp/fifo")
fifo = os.open("/tmp/fifo", os.O_RDWR)
one = ctypes.create_string_buffer(4096)
vectors = (ctypes.c_ulong * 2048)(*([ctypes.addressof(one), 8] * 1024))

def largest(call):
    """Waits with as many files as the call takes."""
    for count in (hard, 8192, 4096, 1024):
        if call(count) >= 0 or ctypes.get_errno() != 22: return

def entries(count): return ctypes.create_string_buffer(struct.pack("ihh", fifo, 1, 0) * count)
def bits(count):
    taken = bytearray(b"\\xff" * (count // 8)); taken[0:2] = b"\\0\\0"
    return ctypes.create_string_buffer(bytes(taken))
def fill(count):
    for number in range(16, count): os.dup2(fifo, number)
def full_socket(kind=socket.SOCK_STREAM):
    a, b = socket.socketpair(socket.AF_UNIX, kind); a.setblocking(False)
    try:
        while True: a.send(bytes(4096))
    except BlockingIOError: a.setblocking(True)
    return a, b
def control():
    held = full_socket()
    for size in (120000, 60000, 16000, 8000):
        try: return held[0].sendmsg([b"x" * 100], [(1000, 1000, bytes(size))])
        except OSError: pass
def futexes():
    words = ctypes.create_string_buffer(1024); start = (ctypes.addressof(words) + 3) & ~3
    libc.syscall(449, b"".join(struct.pack("QQII", 0, start + 4 * i, 2, 0) for i in range(128)), 128, 0, None, 0)
def attributes():
    while True:
        try: os.setxattr("/dev/shm/attributes", "user.a", bytes(65535))
        except OSError: pass
def receive():
    a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)
    head = struct.pack("@PIPNPNi4x", 0, 0, ctypes.addressof(vectors), 1024, 0, 0, 0)
    libc.recvmsg(a.fileno(), ctypes.create_string_buffer(head), 0)
def message():
    queue, text = libc.msgget(0, 0o600), ctypes.create_string_buffer(struct.pack("l", 1) + bytes(8184))
    while libc.msgsnd(queue, text, 8184, 0) == 0: pass
def semaphores(): libc.semop(libc.semget(0, 1, 0o600), struct.pack("HhH", 0, -1, 0) * 500, 500)
def watches():
    poll = select.epoll()
    for number in range(16, 1040): poll.register(number, select.EPOLLIN)
    poll.poll()

calls = {
  "poll": lambda: largest(lambda n: libc.poll(entries(n), n, -1)),
  "ppoll": lambda: largest(lambda n: libc.ppoll(entries(n), n, None, None)),
  "select": lambda: largest(lambda n: libc.select(n, bits(n), None, None, None)),
  "pselect6": lambda: largest(lambda n: libc.syscall(270 if x86 else 72, n, bits(n), None, None, None, None)),
  "readv": lambda: libc.readv(fifo, vectors, 1024),
  "recvmsg": receive, "control": control, "futexes": futexes, "attributes": attributes, "epoll": watches,
  "messages": message, "semaphores": semaphores,
}
kind = "${kind}"
if kind in ("select", "pselect6"): fill(hard)
if kind == "epoll": fill(1040)
if kind == "attributes": open("/dev/shm/attributes", "w").close()
started = 0
try:
    while started < 2000: threading.Thread(target=calls[kind], daemon=True).start(); started += 1
except RuntimeError: pass
before = -1
while kind != "attributes":
    # Every thread has come to its call when none takes processor time any more.
    now = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    if now - before < 0.02: break
    before = now; time.sleep(0.3)
print("holds", started, flush=True); time.sleep(60)
`;

/** Waits for 1,024 files and for one more, for no time, by each call; prints the errors. Then the limit of options and control data of a socket. */
export const WAITS = `
import ctypes, os, resource, struct
hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
libc = ctypes.CDLL(None, use_errno=True)
now = struct.pack("ll", 0, 0)
entries = ctypes.create_string_buffer(struct.pack("ihh", -1, 0, 0) * 1025)
def attempt(name, call):
    errors = []
    for count in (1024, 1025):
        ctypes.set_errno(0); call(count); errors.append(ctypes.get_errno())
    print(name, *errors)
attempt("poll", lambda n: libc.poll(entries, n, 0))
attempt("ppoll", lambda n: libc.ppoll(entries, n, now, None))
attempt("select", lambda n: libc.select(n, None, None, None, now))
attempt("pselect", lambda n: libc.pselect(n, None, None, None, now, None))
print(open("/proc/sys/net/core/optmem_max").read().strip() if os.path.exists("/proc/sys/net/core/optmem_max") else 20480)
`;

/** The lines that it prints in a sandbox. */
export const WAITS_ANSWER = ["poll 0 22", "ppoll 0 22", "select 0 22", "pselect 0 22", "20480"];
