import { describe, expect, test } from "bun:test";
import { lstatSync, readFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { compareSnapshots, takeSnapshot } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type Ended, type HeldSandbox } from "../support/sandbox.ts";

/* Attempts to get out or to harm others, as root of the sandbox. SECURITY.md points here by name. */

const platform = usePlatform();

/** Puts a Python program into the sandbox and runs it as root. */
async function python(sandbox: HeldSandbox, program: string, user: "root" | "user" = "root"): Promise<Ended> {
  await sandbox.client.files.write("/tmp/attempt.py", program);
  return sandbox.asRoot("python3 /tmp/attempt.py", { user });
}

/** `call(name, …)` makes a raw system call and gives its errno, 0 for success. Numbers of x86-64 and of the newer table that arm64 uses. */
const SYSCALLS = `
import ctypes, errno, os, platform, socket, struct, sys
libc = ctypes.CDLL(None, use_errno=True)
x86 = platform.machine() == "x86_64"
NUMBERS = {"unshare": (272, 97), "clone3": (435, 435), "bpf": (321, 280), "io_uring_setup": (425, 425), "perf_event_open": (298, 241),
  "userfaultfd": (323, 282), "add_key": (248, 217), "keyctl": (250, 219), "request_key": (249, 218), "init_module": (175, 105),
  "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104), "open_by_handle_at": (304, 265), "setns": (308, 268),
  "pivot_root": (155, 41), "swapon": (167, 224), "settimeofday": (164, 170), "clock_settime": (227, 112), "reboot": (169, 142), "acct": (163, 89),
  "quotactl": (179, 60), "syslog": (103, 116), "fsopen": (430, 430), "move_mount": (429, 429), "open_tree": (428, 428), "mount_setattr": (442, 442)}
def call(name, *arguments):
    ctypes.set_errno(0)
    number = NUMBERS[name][0 if x86 else 1]
    result = libc.syscall(ctypes.c_long(number), *[ctypes.c_void_p(a) if isinstance(a, int) else a for a in arguments])
    return 0 if result >= 0 else ctypes.get_errno()
`;

describe("devices", () => {
  test("no device node can be made, and the host's disks can't be opened", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import os, stat, glob
def attempt(name, deed):
    try: deed(); print(name, "worked")
    except OSError as error: print(name, "refused")
for major, minor in ((1, 1), (8, 0), (7, 0), (254, 0), (10, 232), (259, 0), (1, 11)):
    path = "/tmp/node-%d-%d" % (major, minor)
    for kind in (stat.S_IFBLK, stat.S_IFCHR):
        attempt("mknod", lambda: os.mknod(path, kind | 0o666, os.makedev(major, minor)))
for path in ("/dev/mem", "/dev/kmem", "/dev/kmsg", "/dev/port", "/dev/sda", "/dev/vda", "/dev/loop0", "/dev/loop-control", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/mapper/control", "/dev/btrfs-control"):
    attempt("open " + path, lambda: os.open(path, os.O_RDWR))
`,
    );
    expect(stdout.split("\n").filter((line) => line.endsWith("worked"))).toEqual([]);
    expect(stdout.split("\n").filter((line) => line.endsWith("refused"))).toHaveLength(14 + 13);
    // By stat, because find trusts the directory, in which a node that is bound over a file is a file.
    const nodes = (await sandbox.asRoot("stat -c '%F %n' $(find /dev -mindepth 1 ! -path '/dev/pts*') | grep special | sort")).stdout;
    const named = nodes
      .trim()
      .split("\n")
      .map((line) => line.replace(" special file", ""));
    const expected = ["full", "null", "random", "tty", "urandom", "zero"].map((name) => `character /dev/${name}`);
    expect(named).toEqual(expected);
  });

  test("owner and mode of the host's device nodes don't change with a sandbox that tries to", async () => {
    const before = takeSnapshot();
    await using sandbox = await createSandbox(platform());
    await sandbox.asRoot(
      "chmod 0 /dev/null /dev/zero /proc/self/fd/0 /proc/self/fd/1; chown 12345 /dev/null /dev/full; chmod 777 /proc/1/fd/*",
    );
    expect(compareSnapshots(before, takeSnapshot()).filter(({ kind }) => kind === "devices")).toEqual([]);
    const node = lstatSync("/dev/null");
    expect([node.uid, node.gid, node.mode & 0o777]).toEqual([0, 0, 0o666]);
  });
});

describe("system calls", () => {
  test("what opens the kernel's rarely used parts is refused", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `${SYSCALLS}
buffer = ctypes.create_string_buffer(256)
for name in ("bpf", "io_uring_setup", "perf_event_open", "userfaultfd", "add_key", "keyctl", "request_key", "init_module", "finit_module", "delete_module", "kexec_load",
             "swapon", "settimeofday", "reboot", "acct", "pivot_root", "open_by_handle_at"):
    print(name, errno.errorcode.get(call(name, 8, ctypes.addressof(buffer), 1, 0, 0), "WORKED"))
`,
    );
    const lines = stdout.trim().split("\n");
    expect(lines).toHaveLength(17);
    for (const line of lines) expect(line).toMatch(/ (EPERM|ENOSYS|EACCES)$/);
  });

  test("a 32-bit call is no way round the profile", async () => {
    await using sandbox = await createSandbox(platform());
    // int 0x80 with the number of getpid of i386; written out because the template has no compiler.
    const { stdout } = await python(
      sandbox,
      `
import ctypes, mmap, os, platform, signal
if platform.machine() != "x86_64": print("killed or refused"); raise SystemExit
pid = os.fork()
if pid == 0:
    code = b"\\xb8\\x14\\x00\\x00\\x00\\xcd\\x80\\xc3"
    page = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC); page.write(code)
    result = ctypes.CFUNCTYPE(ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(page)))()
    os._exit(1 if result > 0 else 0)
status = os.waitpid(pid, 0)[1]
print("worked" if status == 256 else "killed or refused")
`,
    );
    expect(stdout).toBe("killed or refused\n");
  });
});

describe("nested namespaces", () => {
  test("none can be made by unshare, by clone3 or by command, as root or not", async () => {
    await using sandbox = await createSandbox(platform());
    const program = `${SYSCALLS}
for name, flag in (("user", 0x10000000), ("mount", 0x20000), ("net", 0x40000000), ("pid", 0x20000000), ("cgroup", 0x2000000)):
    pid = os.fork()
    if pid == 0:
        print("unshare", name, errno.errorcode.get(call("unshare", flag), "WORKED"), flush=True); os._exit(0)
    os.waitpid(pid, 0)
class Arguments(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("flags","pidfd","child_tid","parent_tid","exit_signal","stack","stack_size","tls","set_tid","set_tid_size","cgroup")]
arguments = Arguments(flags=0x10000000, exit_signal=17)
result = libc.syscall(ctypes.c_long(NUMBERS["clone3"][0]), ctypes.byref(arguments), ctypes.c_size_t(88))
if result == 0: os._exit(0)
print("clone3 user", "WORKED" if result > 0 else errno.errorcode.get(ctypes.get_errno(), "refused"))
`;
    const asUser = (await python(sandbox, program, "user")).stdout;
    expect(asUser.trim().split("\n")).toHaveLength(6);
    expect(asUser).not.toContain("WORKED");
    const asRoot = (await python(sandbox, program)).stdout.trim().split("\n");
    expect(asRoot.filter((line) => line.includes(" user ") && line.includes("WORKED"))).toEqual([]);
    for (const line of asRoot.filter((entry) => / (user|mount|net)/.test(entry))) expect(line).not.toContain("WORKED");
    expect((await sandbox.asRoot("unshare -Ur true", { user: "user" })).exitCode).not.toBe(0);
    expect((await sandbox.asRoot("cat /proc/sys/user/max_user_namespaces")).stdout).toBe("0\n");
    expect((await sandbox.asRoot("echo 100 > /proc/sys/user/max_user_namespaces && unshare -Ur true", { user: "user" })).exitCode).not.toBe(
      0,
    );
  });
});

describe("kernel settings", () => {
  test("nothing of the host can be written through /proc and /sys", async () => {
    await using sandbox = await createSandbox(platform());
    const targets = [
      "/proc/sys/kernel/core_pattern",
      "/proc/sys/kernel/modprobe",
      "/proc/sys/kernel/hostname",
      "/proc/sys/vm/drop_caches",
      "/proc/sys/fs/binfmt_misc/register",
      "/proc/sysrq-trigger",
      "/proc/irq/default_smp_affinity",
      "/sys/kernel/uevent_helper",
      "/sys/kernel/mm/transparent_hugepage/enabled",
      "/sys/power/state",
      "/sys/module/nf_conntrack/parameters/hashsize",
      "/sys/fs/cgroup/release_agent",
      "/sys/fs/cgroup/../../kernel/profiling",
    ];
    for (const target of targets) {
      const { exitCode } = await sandbox.asRoot(`echo 1 > ${target}`);
      expect([target, exitCode]).not.toEqual([target, 0]);
    }
    expect(readFileSync("/proc/sys/kernel/core_pattern", "utf8")).not.toBe("1\n");
  });

  test("secrets of the kernel can't be read", async () => {
    await using sandbox = await createSandbox(platform());
    for (const path of [
      "/proc/kcore",
      "/proc/keys",
      "/proc/timer_list",
      "/proc/sched_debug",
      "/sys/firmware/acpi/tables/DSDT",
      "/proc/kmsg",
    ]) {
      expect([path, (await sandbox.asRoot(`timeout 2 head -c 16 ${path} | wc -c`)).stdout]).toEqual([path, "0\n"]);
    }
    expect((await sandbox.asRoot("awk '$1 !~ /^0+$/' /proc/kallsyms | head -1")).stdout).toBe("");
    expect((await sandbox.asRoot("dmesg")).exitCode).not.toBe(0);
  });

  test("its limits can't be lifted from inside", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot(
      "for f in /.boxyard/cgroup/*/* /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cgroup.max.descendants; do case $f in *.max|*limit*|*quota*|*descendants) [ -e $f ] && echo max > $f && echo $f lifted; echo 99999999999 > $f && echo $f lifted;; esac; done 2>/dev/null; true",
    );
    expect(stdout).toBe("");
    expect(
      (
        await sandbox.asRoot(
          "echo x > /.boxyard/host/limits.json; rm -rf /.boxyard/agent; : > /.boxyard/launch; mount -o remount,rw /.boxyard",
        )
      ).exitCode,
    ).not.toBe(0);
    expect(await sandbox.client.isRunning()).toBe(true);
    expect((await sandbox.asRoot("echo works")).stdout).toBe("works\n");
  });
});

describe("exhaustion", () => {
  test("one sandbox can't take the inotify instances of another", async () => {
    await using greedy = await createSandbox(platform());
    await using modest = await createSandbox(platform());
    const take = `
import ctypes, errno, time
libc = ctypes.CDLL(None, use_errno=True)
taken = 0
while taken < 5000 and libc.inotify_init() >= 0: taken += 1
print(taken, errno.errorcode.get(ctypes.get_errno(), "none"), flush=True)
`;
    const taken = (await python(greedy, take)).stdout.trim().split(" ");
    expect(Number(taken[0])).toBeLessThanOrEqual(128);
    expect(taken[1]).toBe("EMFILE");
    await greedy.client.files.write("/tmp/hold.py", `${take}\ntime.sleep(60)`);
    await greedy.client.commands.run("python3 /tmp/hold.py", { background: true, user: "root", timeoutMs: 0 });
    const handle = await modest.client.files.watchDir("/tmp", () => {});
    await handle.stop();
  });

  test("cgroups can't be made without end", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot(
      "i=0; while [ $i -lt 20000 ] && mkdir /sys/fs/cgroup/user/x$i 2>/dev/null; do i=$((i+1)); done; echo $i",
      { timeoutMs: 50_000 },
    );
    expect(Number(stdout)).toBeLessThan(10_000);
    expect(
      (
        await sandbox.asRoot("d=/sys/fs/cgroup/user; for i in $(seq 200); do d=$d/y; mkdir $d || break; done 2>/dev/null; echo $i")
      ).stdout.trim(),
    ).not.toBe("200");
    // The sandbox can still be removed, which the leak check sees.
  }, 60_000);

  test("open files end at a limit", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot("ulimit -Hn");
    expect(Number(stdout)).toBeLessThanOrEqual(1_048_576);
    expect((await sandbox.asRoot("ulimit -n 10000000")).exitCode).not.toBe(0);
  });
});

describe("network", () => {
  test("forged senders and raw frames don't reach a neighbour", async () => {
    await using attacker = await createSandbox(platform());
    await using neighbour = await createSandbox(platform());
    const address = (await neighbour.asRoot("hostname -I")).stdout.trim().split(" ")[0] ?? "";
    const listening = await neighbour.client.commands.run(
      `timeout 8 python3 -c 'import socket
s=socket.socket(socket.AF_INET,socket.SOCK_DGRAM); s.bind(("0.0.0.0",5353)); s.settimeout(6)
try: print("heard", s.recvfrom(100))
except OSError: print("silence")'`,
      { background: true, user: "root" },
    );
    await python(
      attacker,
      `
import socket, struct, time
target = "${address}"
def attempt(deed):
    try: deed()
    except OSError as error: print(type(error).__name__)
def plain():
    socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(b"plain", (target, 5353))
def forged():
    raw = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW)
    udp = struct.pack("!HHHH", 53, 5353, 8 + 6, 0) + b"forged"
    head = struct.pack("!BBHHHBBH4s4s", 69, 0, 20 + len(udp), 1, 0, 64, 17, 0, socket.inet_aton("8.8.8.8"), socket.inet_aton(target))
    raw.sendto(head + udp, (target, 0))
def frame():
    packet = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3)); packet.bind(("eth0", 0)); packet.send(b"\\xff" * 6 + b"\\x02" * 6 + b"\\x08\\x06" + b"\\0" * 46)
for _ in range(5):
    attempt(plain); attempt(forged); attempt(frame); time.sleep(0.1)
`,
    );
    expect((await listening.wait()).stdout).toBe("silence\n");
  }, 60_000);

  test("the own address and the rules outside can't be changed to get round", async () => {
    await using sandbox = await createSandbox(platform());
    const service = Bun.serve({ port: 0, hostname: "0.0.0.0", fetch: () => new Response("host service") });
    try {
      const hostAddress = Object.values(networkInterfaces())
        .flat()
        .find((entry) => entry?.family === "IPv4" && !entry.internal)?.address;
      const { stdout } = await python(
        sandbox,
        `
import socket, subprocess
for command in ("ip addr add 10.255.0.9/32 dev eth0", "ip route add 10.0.0.0/8 dev eth0", "ip link set eth0 promisc on", "nft flush ruleset", "iptables -F", "sysctl -w net.ipv4.ip_forward=1"):
    subprocess.run(command, shell=True, capture_output=True)
for host in ("${hostAddress ?? "127.0.0.1"}", "127.0.0.1"):
    s = socket.socket(); s.settimeout(2)
    try: s.connect((host, ${service.port})); s.sendall(b"GET / HTTP/1.0\\r\\n\\r\\n"); print("open", s.recv(100))
    except OSError: print("closed")
`,
      );
      expect(stdout).not.toContain("open");
    } finally {
      await service.stop(true);
    }
  });

  test("there is no IPv6 way to the host or out", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import socket, subprocess
lines = [line.split() for line in open("/proc/net/if_inet6")] if __import__("os").path.exists("/proc/net/if_inet6") else []
print("addresses", [f[0] for f in lines if f[5] != "lo"])
for target in ("fe80::1%eth0", "ff02::1%eth0"):
    try: socket.getaddrinfo(target, 80); s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM); s.sendto(b"x", socket.getaddrinfo(target, 5353)[0][4]); print("sent")
    except OSError: print("refused")
`,
    );
    expect(stdout).toContain("addresses []");
    expect(stdout).not.toContain("sent");
  });

  test("the gateway answers DNS and nothing else", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await python(
      sandbox,
      `
import concurrent.futures, re, socket
gateway = re.search(r"nameserver (\\S+)", open("/etc/resolv.conf").read()).group(1)
def is_open(port):
    s = socket.socket(); s.settimeout(1)
    try: s.connect((gateway, port)); return port
    except OSError: return None
with concurrent.futures.ThreadPoolExecutor(64) as pool:
    print([p for p in pool.map(is_open, [*range(1, 1025), 2375, 2376, 3000, 3306, 5432, 6379, 6443, 8000, 8080, 8443, 9090, 10250]) if p])
`,
    );
    expect(["[53]\n", "[]\n"]).toContain(stdout);
  }, 60_000);
});

describe("file interface", () => {
  test("links and odd paths lead nowhere but inside", async () => {
    await using sandbox = await createSandbox(platform());
    await sandbox.asRoot(
      "ln -s /proc/1/root /tmp/root; ln -s ../../../../../../../../etc/shadow /tmp/up; ln -s /tmp/loop /tmp/loop; mkfifo /tmp/fifo",
    );
    const hostLines = readFileSync("/etc/shadow", "utf8")
      .split("\n")
      .filter((line) => line.includes("$"));
    for (const path of [
      "/tmp/root/etc/shadow",
      "/tmp/up",
      "/../../../../etc/shadow",
      "/proc/self/root/etc/shadow",
      "/proc/1/root/etc/shadow",
    ]) {
      const text = await sandbox.client.files.read(path, { user: "root" }).catch(() => "");
      for (const line of hostLines) expect(text).not.toContain(line);
    }
    await expect(sandbox.client.files.read("/tmp/loop")).rejects.toThrow();
    await expect(sandbox.client.files.read("/tmp/fifo", { requestTimeoutMs: 5_000 })).rejects.toThrow();
    await expect(sandbox.client.files.read("/proc/kcore", { requestTimeoutMs: 5_000 })).rejects.toThrow();
    expect(await sandbox.client.isRunning()).toBe(true);
  });
});
