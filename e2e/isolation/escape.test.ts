import { describe, expect, test } from "bun:test";
import { lstatSync, readFileSync } from "node:fs";
import { compareSnapshots, eventually, takeSnapshot } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { python, SYSCALLS } from "./support/python.ts";
import { plantSecret } from "./support/secret.ts";

/* Attempts to get out or to harm others, as root of the sandbox. SECURITY.md points here by name. */

const platform = usePlatform();

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

  test("a call that the sandbox's list does not know does not exist, and of `personality` only harmless values do", async () => {
    await using sandbox = await createSandbox(platform());
    // open_tree_attr, the first call that a list of refusals missed; and numbers that the kernel has yet to give.
    const { stdout } = await python(
      sandbox,
      `
import ctypes, errno, platform
libc = ctypes.CDLL(None, use_errno=True)
def call(number, *arguments):
    ctypes.set_errno(0)
    return errno.errorcode.get(ctypes.get_errno(), "WORKED") if libc.syscall(number, *arguments) < 0 else "WORKED"
for number in (467, 457, 458, 470, 480, 499): print(call(number, -100, ctypes.c_char_p(b"/"), 0, 0, 0))
PERSONALITY = 135 if platform.machine() == "x86_64" else 92
# READ_IMPLIES_EXEC, MMAP_PAGE_ZERO; then the question, and what debuggers ask for.
for persona in (0x400000, 0x100000, 0xffffffff, 0x40000): print(call(PERSONALITY, ctypes.c_ulong(persona)))
`,
    );
    expect(stdout.trim().split("\n")).toEqual([...Array(6).fill("ENOSYS"), "EPERM", "EPERM", "WORKED", "WORKED"]);
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
FLAGS = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000, "cgroup": 0x2000000, "ipc": 0x8000000, "uts": 0x4000000, "time": 0x80}
class Arguments(ctypes.Structure):
    _fields_ = [(n, ctypes.c_uint64) for n in ("flags","pidfd","child_tid","parent_tid","exit_signal","stack","stack_size","tls","set_tid","set_tid_size","cgroup")]
def clone3(flag):
    arguments = Arguments(flags=flag, exit_signal=17)
    ctypes.set_errno(0)
    result = libc.syscall(ctypes.c_long(NUMBERS["clone3"][0]), ctypes.byref(arguments), ctypes.c_size_t(88))
    if result == 0: os._exit(0)
    return 0 if result > 0 else ctypes.get_errno()
for name, flag in FLAGS.items():
    pid = os.fork()
    if pid == 0:
        print("unshare", name, errno.errorcode.get(call("unshare", flag), "WORKED"), flush=True); os._exit(0)
    os.waitpid(pid, 0)
    print("clone3", name, errno.errorcode.get(clone3(flag), "WORKED"), flush=True)
print("clone3 plain", errno.errorcode.get(clone3(0), "WORKED"))
`;
    for (const user of ["user", "root"] as const) {
      const lines = (await python(sandbox, program, user)).stdout.trim().split("\n");
      expect(lines).toHaveLength(8 * 2 + 1);
      // clone3 as such is allowed: it is the namespace that is refused.
      expect(lines.pop()).toBe("clone3 plain WORKED");
      for (const line of lines) expect([user, line]).toEqual([user, expect.stringMatching(/ (EPERM|ENOSPC)$/)]);
    }
    expect((await sandbox.asRoot("unshare -Ur true", { user: "user" })).exitCode).not.toBe(0);
    expect((await sandbox.asRoot("cat /proc/sys/user/max_user_namespaces")).stdout).toBe("0\n");
    expect((await sandbox.asRoot("echo 100 > /proc/sys/user/max_user_namespaces && unshare -Ur true", { user: "user" })).exitCode).not.toBe(
      0,
    );
  });
});

/** What the machine itself reads in a file of /proc or /sys; undefined where it has none, or one that can't be read. */
function ofMachine(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return undefined;
  }
}

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
    const before = targets.map(ofMachine);
    for (const target of targets) {
      const { exitCode } = await sandbox.asRoot(`echo 1 > ${target}`);
      expect([target, exitCode]).not.toEqual([target, 0]);
    }
    expect(targets.map(ofMachine)).toEqual(before);
  });

  test("a crash starts nothing on the host, and no release agent can be set", async () => {
    await using sandbox = await createSandbox(platform());
    const before = readFileSync("/proc/sys/kernel/core_pattern", "utf8");
    await sandbox.asRoot(
      "echo '|/tmp/handler %p' > /proc/sys/kernel/core_pattern; mount -o remount,rw /proc/sys; mount -t proc proc /mnt && echo '|/tmp/handler %p' > /mnt/sys/kernel/core_pattern; printf '#!/bin/sh\\ntouch /tmp/handled' > /tmp/handler; chmod +x /tmp/handler; ulimit -c unlimited; sh -c 'kill -SEGV $$'",
    );
    expect(readFileSync("/proc/sys/kernel/core_pattern", "utf8")).toBe(before);
    // Every way to a v1 hierarchy, whose release agent would be started outside: its files wherever they are, and mounts of its own.
    const { stdout } = await sandbox.asRoot(
      "for f in $(find / -xdev \\( -name release_agent -o -name notify_on_release \\) 2>/dev/null; find /sys /proc/1/root/sys /.boxyard \\( -name release_agent -o -name notify_on_release \\) 2>/dev/null); do (echo 1 > $f) 2>/dev/null && echo $f written; done; for c in memory cpu pids rdma misc; do mkdir -p /tmp/cg; mount -t cgroup -o $c cgroup /tmp/cg 2>/dev/null && echo $c mounted; done; mount -t cgroup2 none /tmp/cg 2>/dev/null && echo v2 mounted; true",
    );
    expect(stdout).toBe("");
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

  test("nothing shows the machine's disks, its kernel's parameters, its other tasks, or where the data directory is", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot(
      "cat /proc/diskstats /proc/partitions /proc/cmdline /proc/mdstat /proc/swaps /proc/key-users 2>/dev/null; ls -A /proc/pressure /proc/fs | grep -v :; true",
    );
    expect(stdout.trim()).toBe("");
    // Of these lines only: the directory of this sandbox's own facts is bound from there, and files of it over the kernel's.
    const facts = "/.boxyard/host|/proc/sys/kernel/random/boot_id|/proc/meminfo|/proc/cpuinfo|/sys/devices/system/cpu/online";
    const told = (await sandbox.asRoot(`grep -vE ' (${facts}) ' /proc/1/mountinfo`)).stdout;
    expect(told).toContain("lowerdir=");
    expect(told).not.toContain(platform().dataDir);
    for (const line of told.trim().split("\n")) expect(line).not.toMatch(/ - \S+ \/dev\//);
  });

  test("its limits can't be lifted from inside", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot(
      "for f in /.boxyard/cgroup/*/* /sys/fs/cgroup/memory.max /sys/fs/cgroup/pids.max /sys/fs/cgroup/cpu.max /sys/fs/cgroup/cgroup.max.descendants; do case $f in *.max|*limit*|*quota*|*descendants) [ -e $f ] && echo max > $f && echo $f lifted; echo 99999999999 > $f && echo $f lifted;; esac; done 2>/dev/null; true",
    );
    expect(stdout).toBe("");
    for (const command of [
      "echo x > /.boxyard/host/limits.json",
      "rm -rf /.boxyard/agent",
      ": > /.boxyard/launch",
      "mount -o remount,rw /.boxyard",
    ]) {
      expect([command, (await sandbox.asRoot(command)).exitCode]).not.toEqual([command, 0]);
    }
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
    expect(Number(taken[0])).toBeGreaterThan(0);
    expect(Number(taken[0])).toBeLessThanOrEqual(64);
    expect(taken[1]).toBe("EMFILE");
    await greedy.client.files.write("/tmp/hold.py", `${take}\ntime.sleep(60)`);
    const holding = await greedy.client.commands.run("python3 /tmp/hold.py", { background: true, user: "root", timeoutMs: 0 });
    await eventually("all of them are held", () => holding.stdout.includes("EMFILE"));
    const handle = await modest.client.files.watchDir("/tmp", () => {});
    await handle.stop();
  });

  test("cgroups can't be made without end, neither deep nor wide", async () => {
    await using sandbox = await createSandbox(platform());
    const deep = await sandbox.asRoot(
      "d=/sys/fs/cgroup/user; i=0; while mkdir $d/y 2>/dev/null && [ $i -lt 200 ]; do d=$d/y; i=$((i+1)); done; echo $i",
    );
    expect(Number(deep.stdout)).toBeLessThan(8);
    const { stdout } = await sandbox.asRoot(
      "i=0; while [ $i -lt 20000 ] && mkdir /sys/fs/cgroup/user/x$i 2>/dev/null; do i=$((i+1)); done; echo $i",
      { timeoutMs: 50_000 },
    );
    expect(Number(stdout)).toBeGreaterThan(0);
    expect(Number(stdout)).toBeLessThanOrEqual(2_048);
    // The sandbox can still be removed, which the leak check sees.
  }, 60_000);

  test("open files end at a limit", async () => {
    await using sandbox = await createSandbox(platform());
    const { stdout } = await sandbox.asRoot("ulimit -Hn");
    expect(Number(stdout)).toBeLessThanOrEqual(16_384);
    expect((await sandbox.asRoot("ulimit -n 10000000")).exitCode).not.toBe(0);
  });
});

describe("file interface", () => {
  test("links and odd paths lead nowhere but inside", async () => {
    await using sandbox = await createSandbox(platform());
    await sandbox.asRoot(
      "ln -s /proc/1/root /tmp/root; ln -s ../../../../../../../../etc/shadow /tmp/up; ln -s /tmp/loop /tmp/loop; mkfifo /tmp/fifo",
    );
    await using secret = await plantSecret();
    await sandbox.asRoot(`ln -s ${secret.path} /tmp/straight; ln -s ../../../../../../../..${secret.path} /tmp/climbing`);
    for (const path of [
      secret.path,
      "/tmp/straight",
      "/tmp/climbing",
      `/tmp/root${secret.path}`,
      `/../../../..${secret.path}`,
      `/proc/self/root${secret.path}`,
      `/proc/self/cwd/../../..${secret.path}`,
      `/proc/1/root${secret.path}`,
    ]) {
      const read = sandbox.client.files.read(path, { user: "root" });
      expect([path, await read.catch((error: Error) => error.name)]).toEqual([path, "FileNotFoundError"]);
    }
    // The machine's own users are not the sandbox's: what it reads as its shadow file is its own.
    await sandbox.asRoot("echo mine:x:1:::::: > /etc/shadow");
    expect(await sandbox.client.files.read("/tmp/up", { user: "root" })).toBe("mine:x:1::::::\n");
    for (const [path, message] of [
      ["/tmp/loop", "look at '/tmp/loop': too many symbolic links"],
      ["/tmp/fifo", "path '/tmp/fifo' is not a regular file"],
      ["/proc/kcore", "path '/proc/kcore' does not exist"],
    ] as const) {
      await expect(sandbox.client.files.read(path)).rejects.toThrow(message);
    }
    expect(await sandbox.client.isRunning()).toBe(true);
  });
});
