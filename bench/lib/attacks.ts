/*
 * Programs (Python) that a hostile sandbox could run to keep the rest of the machine waiting: each repeats, on several processes, system calls for which
 * a kernel takes a lock of the whole machine. What a sandbox may not do is tried too: a refusal must be cheap.
 */

/** Processes that attack at the same time. */
const PROCESSES = 8;

const attack = (setUp: string, turn: string): string => `
import ctypes, fcntl, os, signal, socket, struct, time
libc = ctypes.CDLL(None, use_errno=True)
def attempt(call, *arguments):
    try: call(*arguments)
    except OSError: pass
for number in range(${PROCESSES} - 1):
    if os.fork() == 0: break
else: print("attacks", flush=True)
${setUp}
while True:
    for _ in range(64):
        ${turn}
`;

/** Takes as much processor time by calls that hold nothing: what the attacks are compared with. */
export const PLAIN = attack("", "libc.getppid()");

/** By the name of what is attacked. */
export const ATTACKS: Readonly<Record<string, string>> = {
  "multicast memberships": attack(
    `sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(100)]
group = socket.inet_aton("224.0.0.251") + socket.inet_aton("127.0.0.1")`,
    "for s in sockets[:8]: attempt(s.setsockopt, 0, 35, group); attempt(s.setsockopt, 0, 36, group)",
  ),
  "lists of links": attack(
    `s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
netlink = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
ask = struct.pack("=LHHLL", 20, 18, 0x301, 1, 0) + bytes(4)`,
    `netlink.send(ask); netlink.recv(65536); netlink.recv(65536)
        attempt(fcntl.ioctl, s, 0x8912, bytes(16)); open("/proc/net/dev").read()`,
  ),
  "moves between processors": attack("", "os.sched_setaffinity(0, {0}); os.sched_setaffinity(0, {0, 1})"),
  breakpoints: attack(
    `child = os.fork()
if child == 0:
    libc.ptrace(0, 0, 0, 0); os.kill(os.getpid(), signal.SIGSTOP)
os.waitpid(child, os.WUNTRACED)
libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]`,
    "libc.ptrace(6, child, 848, 4096); libc.ptrace(6, child, 904, 1)",
  ),
  "namespaces and mounts": attack("", "libc.unshare(0x40000000); libc.unshare(0x20000); libc.mount(b'none', b'/mnt', b'tmpfs', 0, None)"),
  "cgroups made and removed": attack(`mine = "/sys/fs/cgroup/user/a%d" % os.getpid()`, "attempt(os.mkdir, mine); attempt(os.rmdir, mine)"),
  "lists of tasks": attack("", "os.setpgid(0, 0); attempt(os.kill, -1, 0); attempt(os.getpriority, os.PRIO_USER, 0)"),
  forks: attack(
    "",
    `child = os.fork()
        if child == 0: os._exit(0)
        os.waitpid(child, 0)`,
  ),
};
