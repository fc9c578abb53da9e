import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { ACCESS_LISTS, ACCESS_LISTS_ANSWER } from "../../packages/driver-local/src/testing/access-lists.ts";
import { WAITS, WAITS_ANSWER } from "../../packages/driver-local/src/testing/held-memory.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { python } from "./support/python.ts";

/* Memory of the kernel's that no sandbox's account holds: attempts to take it, with small amounts. SECURITY.md points here by name. */

const platform = usePlatform();

/** What one socket may hold when nobody asks for more. The kernel counts its own overhead, and doubles what a program asks for. */
const defaultBuffer = () => Number(readFileSync("/proc/sys/net/core/rmem_default", "utf8"));
const MIB = 1 << 20;

test("netlink sockets take no more than the default buffer, and none that anybody may fill can be made", async () => {
  await using sandbox = await createSandbox(platform());
  const program = `
import errno, os, socket, struct
NETLINK, FORCE = 16, 33
for protocol in range(32):
    try: socket.socket(NETLINK, socket.SOCK_RAW, protocol).close(); print("made", protocol)
    except OSError as error: print(errno.errorcode[error.errno], protocol)
s = socket.socket(NETLINK, socket.SOCK_RAW, 0)
s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
print("buffer", s.getsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF))
try: s.setsockopt(socket.SOL_SOCKET, FORCE, 4 << 20); print("forced")
except OSError as error: print("force", errno.errorcode[error.errno])
s.bind((0, 0)); s.setblocking(False)
# Each unknown request comes back with its answer, which waits until the socket is read.
for i in range(4000):
    try: s.send(struct.pack("=IHHII", 4096, 999, 1, i, 0) + bytes(4080))
    except BlockingIOError: break
inode = str(os.fstat(s.fileno()).st_ino)
print("waiting", [line.split()[4] for line in open("/proc/net/netlink") if line.split()[9] == inode][0])
`;
  for (const user of ["user", "root"] as const) {
    const lines = (await python(sandbox, program, user)).stdout.trim().split("\n");
    expect(lines.filter((line) => line.startsWith("made"))).toEqual(["made 0", "made 4", "made 15", "made 16"]);
    expect(lines.filter((line) => /^E/.test(line) && !/^(EPROTONOSUPPORT|EAFNOSUPPORT|ENOSYS) /.test(line))).toEqual([]);
    const value = (name: string) => Number(lines.find((line) => line.startsWith(name))?.split(" ")[1]);
    expect(value("buffer")).toBe(defaultBuffer());
    expect(lines).toContain("force EPERM");
    expect(value("waiting")).toBeGreaterThan(0);
    expect(value("waiting")).toBeLessThan(2 * defaultBuffer());
  }
}, 60_000);

test("no memory for packet rings, while packets can still be read one by one", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import errno, socket, struct
PACKET, VERSION, RX_RING, TX_RING, FANOUT, HDRLEN = 263, 10, 5, 13, 18, 11
s = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
def attempt(name, deed):
    try: deed(); print(name, "worked")
    except OSError as error: print(name, errno.errorcode[error.errno])
attempt("version", lambda: s.setsockopt(PACKET, VERSION, struct.pack("i", 1)))
# 1 MiB: 16 blocks of 64 KiB.
for name, option in (("rx", RX_RING), ("tx", TX_RING)):
    attempt(name, lambda: s.setsockopt(PACKET, option, struct.pack("IIII", 65536, 16, 2048, 512)))
attempt("fanout", lambda: s.setsockopt(PACKET, FANOUT, struct.pack("I", 1)))
attempt("asking", lambda: s.getsockopt(PACKET, HDRLEN))
s.settimeout(5)
u = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); u.sendto(b"to be seen", ("127.0.0.1", 9))
print("read", b"to be seen" in s.recv(2048))
`,
  );
  const lines = stdout.trim().split("\n");
  for (const name of ["version", "rx", "tx", "fanout", "asking"]) expect(lines).toContain(`${name} ENOPROTOOPT`);
  expect(lines).toContain("read True");
});

test("what waits in TCP and UDP sockets is on the sandbox's account", async () => {
  await using sandbox = await createSandbox(platform());
  const { memoryMB } = (await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { memoryMB: number };
  // Connections to itself that nobody reads, until the kernel takes no more or a quarter of the sandbox's memory waits in them.
  const goal = (memoryMB / 4) * MIB;
  const { stdout } = await python(
    sandbox,
    `
import resource, socket
resource.setrlimit(resource.RLIMIT_NOFILE, (4096, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))
server = socket.create_server(("127.0.0.1", 0), backlog=512); port = server.getsockname()[1]
keep, sent, idle = [], 0, 0
while sent < ${goal} and len(keep) < 1500 and idle < 40:
    c = socket.create_connection(("127.0.0.1", port)); a, _ = server.accept(); c.setblocking(False); keep += [c, a]
    before = sent
    try:
        while sent - before < (4 << 20): sent += c.send(bytes(65536))
    except BlockingIOError: pass
    idle = idle + 1 if sent - before < (256 << 10) else 0
import os
v1 = "/.boxyard/cgroup/memory/memory.kmem.tcp.usage_in_bytes"
stat = "/sys/fs/cgroup/memory.stat"
account = int(open(v1).read()) if os.path.exists(v1) else int([l.split()[1] for l in open(stat) if l.startswith("sock ")][0])
print(sent, account, "v1" if os.path.exists(v1) else "v2")
`,
  );
  const [sent, account, version] = stdout.trim().split(" ");
  expect(Number(sent)).toBeGreaterThan(4 * MIB);
  // What programs have sent, and more: the kernel counts whole pages.
  expect(Number(account)).toBeGreaterThan(Number(sent) / 2);
  // On v1 it is an account of its own, with a limit of its own.
  if (version === "v1") expect(Number(sent)).toBeLessThan(goal);
}, 90_000);

test("locks on files name their process, by which the server finds who takes memory with them", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import errno, fcntl, struct
file = open("/tmp/locked", "w")
def attempt(name, command, kind):
    try: fcntl.fcntl(file, command, struct.pack("hhqqi4x", kind, 0, 0, 1, 0)); print(name, "done")
    except OSError as e: print(name, errno.errorcode[e.errno])
attempt("process", fcntl.F_SETLK, fcntl.F_WRLCK)
attempt("process waits", fcntl.F_SETLKW, fcntl.F_UNLCK)
attempt("open file", 37, fcntl.F_WRLCK)
attempt("open file waits", 38, fcntl.F_WRLCK)
fcntl.flock(file, fcntl.LOCK_EX); print("flock done")
`,
  );
  expect(stdout.trim().split("\n")).toEqual([
    "process done",
    "process waits done",
    "open file EINVAL",
    "open file waits EINVAL",
    "flock done",
  ]);
});

test("large access lists of files, which are kept beside the account, are refused; other attributes are not", async () => {
  await using sandbox = await createSandbox(platform());
  expect((await python(sandbox, ACCESS_LISTS)).stdout.trim().split("\n")).toEqual(ACCESS_LISTS_ANSWER);
});

test("threads that wait for files hold no more beside the account than an eighth of the sandbox's memory", async () => {
  await using sandbox = await createSandbox(platform());
  expect((await python(sandbox, WAITS, "user")).stdout.trim().split("\n")).toEqual(WAITS_ANSWER);
  const limits = JSON.parse((await sandbox.asRoot("cat /.boxyard/host/limits.json")).stdout) as {
    memoryBytes: number;
    maxProcesses: number;
  };
  expect(limits.maxProcesses * 140 * 1024).toBeLessThanOrEqual(limits.memoryBytes / 8);
});

test("asynchronous I/O, whose contexts the machine counts together, does not exist", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
context = ctypes.c_ulong(0)
result = libc.syscall(206 if platform.machine() == "x86_64" else 0, 16, ctypes.byref(context))
print("made" if result == 0 else errno.errorcode[ctypes.get_errno()])
`,
  );
  expect(stdout).toBe("ENOSYS\n");
});

test("no compiled filters, for which all sandboxes share one budget of the machine's", async () => {
  await using sandbox = await createSandbox(platform());
  const { stdout } = await python(
    sandbox,
    `
import ctypes, errno, platform, socket, struct
libc = ctypes.CDLL(None, use_errno=True)
# One instruction: allow everything.
code = ctypes.create_string_buffer(struct.pack("HBBI", 6, 0, 0, 0x7fff0000))
class Program(ctypes.Structure): _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
program = Program(1, ctypes.addressof(code))
def say(name, result): print(name, "worked" if result >= 0 else errno.errorcode[ctypes.get_errno()])
libc.prctl(38, 1, 0, 0, 0)
say("seccomp", libc.syscall(317 if platform.machine() == "x86_64" else 277, 1, 0, ctypes.byref(program)))
say("prctl", libc.prctl(22, 2, ctypes.byref(program), 0, 0))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for option in (26, 50, 51, 52): say("option", libc.setsockopt(s.fileno(), 1, option, ctypes.byref(program), 16))
`,
    "user",
  );
  expect(stdout.trim().split("\n")).toEqual(["seccomp EINVAL", "prctl EINVAL", ...Array(4).fill("option ENOPROTOOPT")]);
});
