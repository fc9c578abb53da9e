import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { BOOT_ID_PATH } from "../figures/files.ts";
import type { RuntimeName } from "../runtime/dialect.ts";
import { readInstance } from "../setup/index.ts";
import { ACCESS_LISTS, ACCESS_LISTS_ANSWER } from "./access-lists.ts";
import { ATTACKS_ON_BOOT_ID } from "./attacks-on-boot-id.ts";
import { exec, initAgent } from "./exec.ts";
import { WAITS, WAITS_ANSWER } from "./held-memory.ts";
import { never, type TestMachine } from "./machine.ts";
import { machineLockTests } from "./machine-locks.ts";
import { NUMBERS } from "./syscall-numbers.ts";
import { useTestMachine } from "./use-test-machine.ts";

/** How the sandbox was made. The source of a fork runs on. */
type Beginning = "booted" | "resumed" | "forked" | "from the disk of a snapshot";

async function begin(machine: TestMachine, how: Beginning): Promise<SandboxHandle> {
  const { driver } = machine;
  const spec = machine.spec();
  const first = await machine.boot(spec);
  await initAgent(await driver.address(first));
  if (how === "booted") return first;
  const memory = how !== "from the disk of a snapshot";
  let handle: SandboxHandle;
  if (how === "resumed") {
    await driver.pause(first, { memory }, never);
    handle = await driver.resume({ ...spec, incarnation: 2 }, { memory }, never);
  } else {
    await driver.snapshots.capture(first, { id: "s", memory }, never);
    handle = await machine.boot({ ...machine.spec(), from: { snapshot: "s", memory } });
  }
  await initAgent(await driver.address(handle));
  return handle;
}

/** What root inside a sandbox cannot do. Each test is an attack that a hostile program would try first. */
export const isolationSuite = (runtime: RuntimeName, how: Beginning = "booted") =>
  describe(`a sandbox's root, ${runtime}, ${how}`, () => {
    setDefaultTimeout(60_000);
    let devicesBefore: string;
    beforeAll(() => {
      devicesBefore = deviceNodes();
    });
    const machine = useTestMachine(runtime);
    let handle: SandboxHandle;
    let address: AgentAddress;
    const inside = async (command: string) => await exec(address, command);

    beforeAll(async () => {
      handle = await begin(machine, how);
      address = await machine.driver.address(handle);
    }, 600_000);

    /** Makes a system call by number from Python; returns `result N` or `errno N`. */
    const syscall = async (name: keyof typeof NUMBERS, ...args: readonly (number | string)[]) => {
      const values = args.map((arg) =>
        typeof arg === "string" ? `ctypes.c_char_p(${JSON.stringify(arg)}.encode())` : `ctypes.c_long(${arg})`,
      );
      const script = `import ctypes; l=ctypes.CDLL(None,use_errno=True); r=l.syscall(${[NUMBERS[name], ...values].join(",")}); print(r, ctypes.get_errno())`;
      const { output } = await inside(`python3 -c '${script}'`);
      const [result, errno] = output.trim().split(" ").map(Number);
      return result === -1 ? `errno ${errno}` : `result ${result}`;
    };

    test("is root inside and nobody outside", async () => {
      expect((await inside("id -u")).output).toBe("0\n");
      const uid = statSync(`/proc/${machine.agentPid(handle)}`).uid;
      expect(uid).toBeGreaterThanOrEqual(0x1000_0000);
    });

    test("does not see the machine's files", async () => {
      const secret = join(machine.dataDir, "a-secret-of-the-machine");
      writeFileSync(secret, "xyzzy-plugh", { mode: 0o644 });
      const { output } = await inside(`cat ${secret} /proc/1/root${secret} /proc/1/cwd${secret} /.boxyard/..${secret}`);
      expect(output).not.toContain("plugh");
      expect(output.match(/No such file/g)?.length).toBe(4);
    });

    test("sees no process but its own", async () => {
      const { output } = await inside("cat /proc/[0-9]*/comm | sort -u; cat /proc/1/comm");
      expect(output).not.toContain("bun");
      expect(output).toContain("agent");
      expect(output.trim().split("\n").at(-1)).toBe("init");
    });

    test("mounts nothing, by old or new system calls", async () => {
      expect(await syscall("mount", "none", "/mnt", "tmpfs", 0, 0)).toBe("errno 1");
      expect(await syscall("mount", "/etc", "/mnt", 0, 4096, 0)).toBe("errno 1");
      expect(await syscall("umount2", "/.boxyard", 2)).toBe("errno 1");
      expect(await syscall("fsopen", "tmpfs", 0)).toBe("errno 1");
      expect(await syscall("open_tree", -100, "/", 1)).toBe("errno 1");
      expect(
        (await inside("touch /.boxyard/x; touch /sys/x; echo 1 > /proc/irq/default_smp_affinity; echo x > /proc/sys/kernel/core_pattern"))
          .output,
      ).toMatch(/(.*(Read-only file system|Permission denied).*\n){4}/);
    });

    test("loads no module and no kernel, and does not stop the machine", async () => {
      expect(await syscall("finit_module", 0, "", 0)).toBe("errno 1");
      expect(await syscall("init_module", 0, 0, "")).toBe("errno 1");
      expect(await syscall("kexec_load", 0, 0, 0, 0)).toBe("errno 1");
      expect(await syscall("reboot", 0xfee1dead, 672274793, 0x1234567, 0)).toBe("errno 1");
    });

    test("reaches no subsystem of the kernel that sandboxes do not need", async () => {
      for (const name of ["bpf", "perf_event_open", "userfaultfd", "add_key", "keyctl", "request_key", "open_by_handle_at"] as const) {
        expect([name, await syscall(name, 0, 0, 0, 0, 0)]).toEqual([name, "errno 1"]);
      }
      expect(await syscall("io_uring_setup", 8, 0)).toBe("errno 38");
      for (const family of [38, 40, 21, 30]) expect(await syscall("socket", family, 5, 0)).toBe("errno 97");
      expect(await syscall("socket", 2, 1, 0)).toMatch(/^result/);
    });

    test("makes no device node, and opens none of a layer", async () => {
      const { output } = await inside("mknod /tmp/disk b 254 0; mknod /tmp/mem c 1 1; mknod /dev/kmsg c 1 11");
      expect(output.match(/Operation not permitted/g)?.length).toBe(3);
      const nodes = (await inside("cd /dev; for f in *; do [ -b $f -o -c $f ] && [ ! -L $f ] && echo $f; done")).output.trim().split("\n");
      expect(nodes).toEqual(["full", "null", "random", "tty", "urandom", "zero"]);
      const upper = join(machine.dataDir, "pool/sandboxes", handle.sandboxId, "upper/srv");
      mkdirSync(upper, { recursive: true });
      expect(Bun.spawnSync(["mknod", "-m", "666", join(upper, "zero"), "c", "1", "5"]).exitCode).toBe(0);
      const opened = await inside("ls -l /srv/zero; head -c 1 /srv/zero");
      expect(opened.output).toMatch(/^crw-rw-rw-.* 1, +5 /);
      expect(opened.output).toContain("Permission denied");
    });

    test("shares no inode of the guest bundle or of a device node with the machine", () => {
      const root = `/proc/${machine.initPid(handle)}/root`;
      const place = (path: string) => `${statSync(path).dev}:${statSync(path).ino}`;
      for (const name of ["null", "zero", "full", "random", "urandom", "tty"]) {
        expect([name, place(`${root}/dev/${name}`)]).not.toEqual([name, place(`/dev/${name}`)]);
      }
      const guest = join(machine.dataDir, "guest/current");
      for (const name of ["init", "agent", "lib/ld.so"]) {
        expect([name, statSync(`${root}/.boxyard/${name}`).dev]).not.toEqual([name, statSync(join(guest, name)).dev]);
      }
    });

    test("neither writes, replaces nor uncovers its boot identity", async () => {
      const read = async () => (await inside(`cat ${BOOT_ID_PATH}`)).output;
      const before = await read();
      expect(before).not.toBe(readFileSync(BOOT_ID_PATH, "utf8"));
      const tried = `${ATTACKS_ON_BOOT_ID}print("tried")`;
      expect((await inside(`cat > /tmp/attacks.py <<'END'\n${tried}\nEND\npython3 /tmp/attacks.py`)).output).toBe("tried\n");
      const mounts = (await inside("cat /proc/1/mountinfo")).output.split("\n").filter((line) => line.includes(` ${BOOT_ID_PATH} `));
      // One mount alone, without a peer on the machine.
      expect(mounts).toEqual([expect.stringMatching(/ ro,nosuid,nodev,noexec\S* - /)]);
      expect(await read()).toBe(before);
    });

    test("opens no namespace of its own", async () => {
      expect((await inside("unshare --user true")).exitCode).not.toBe(0);
      expect((await inside("unshare --net true")).exitCode).not.toBe(0);
      expect((await inside("unshare --user true")).output).toMatch(/Operation not permitted|No space left/);
      // struct clone_args: flags first. clone3 itself is allowed; the user namespace's own limit stops it.
      const script = `import ctypes; l=ctypes.CDLL(None,use_errno=True); a=(ctypes.c_uint64*11)(0x10000000,0,0,0,17); r=l.syscall(435,a,88); print(r, ctypes.get_errno()) if r else None`;
      expect((await inside(`python3 -c '${script}'`)).output.trim()).toBe("-1 28");
      const raised = await inside("echo 100 > /proc/sys/user/max_user_namespaces; cat /proc/sys/user/max_user_namespaces");
      expect(raised.output).toContain("Read-only file system");
      expect(raised.output).toMatch(/^0$/m);
    });

    machineLockTests(inside);

    test("takes no more inotify instances than its share", async () => {
      const script = `import ctypes\nl=ctypes.CDLL(None)\nn=0\nwhile n<500 and l.inotify_init1(0)>=0: n+=1\nprint(n)`;
      const made = Number((await inside(`python3 -c '${script}'`)).output);
      expect(made).toBeGreaterThan(0);
      expect(made).toBeLessThanOrEqual(64);
    });

    test("puts no large access list on a file, which is kept in memory that no cgroup counts", async () => {
      const { output } = await inside(`cat > /tmp/acl.py <<'END'\n${ACCESS_LISTS}\nEND\npython3 /tmp/acl.py`);
      expect(output.trim().split("\n")).toEqual(ACCESS_LISTS_ANSWER);
    });

    test("waits for no more than 1,024 files in a call, and keeps little in a socket: both are memory that no cgroup counts", async () => {
      const { output } = await inside(`cat > /tmp/waits.py <<'END'\n${WAITS}\nEND\npython3 /tmp/waits.py`);
      expect(output.trim().split("\n")).toEqual(WAITS_ANSWER);
    });

    test("raises no limit of its own", async () => {
      const { output } = await inside(
        "cd /sys/fs/cgroup; for f in cgroup.max.descendants cgroup.freeze cgroup.kill; do echo 1 > $f; done; " +
          "for f in /.boxyard/cgroup/*/*limit_in_bytes /.boxyard/cgroup/pids/pids.max memory.max pids.max; do [ -e $f ] && echo 1 > $f; done; true",
      );
      const refusals = output.match(/Permission denied|Read-only file system/g)?.length ?? 0;
      expect(refusals).toBe(output.trim().split("\n").length);
      expect(refusals).toBeGreaterThanOrEqual(5);
      expect((await inside("ulimit -Hn 1000000")).exitCode).not.toBe(0);
      // The number and depth of cgroups are limited, because the kernel's memory for them is the machine's.
      const script = `import os\nos.chdir("/sys/fs/cgroup/user")\nn=0\ntry:\n  while n<9999: os.mkdir("x%d"%n); n+=1\nexcept OSError as e: print(e.strerror)\nfor i in range(n): os.rmdir("x%d"%i)\nprint(n)`;
      const [why, made] = (await inside(`python3 -c '${script}'`)).output.trim().split("\n");
      expect(why).toBe("Resource temporarily unavailable");
      expect(Number(made)).toBeLessThanOrEqual(2_048);
      expect((await inside("mkdir -p /sys/fs/cgroup/user/1a/2/3/4/5/6/7/8/9/10; true")).output).toContain(
        "Resource temporarily unavailable",
      );
    });

    test("changes no device node of the machine, also not through its own standard streams", async () => {
      await inside(
        "chmod 0000 /dev/null /dev/zero /dev/tty; chown 1000 /dev/null; chmod 0777 /proc/1/fd/* /proc/self/fd/*; chown 1000 /proc/1/fd/0; true",
      );
      expect(deviceNodes()).toBe(devicesBefore);
    });

    test("inherits no descriptor of the server", () => {
      const init = machine.initPid(handle);
      const fds = readdirSync(`/proc/${init}/fd`).map((fd) => [fd, readlinkSync(`/proc/${init}/fd/${fd}`).replace(/\d+/, "N")]);
      expect(fds).toEqual([
        ["0", "pipe:[N]"],
        ["1", "pipe:[N]"],
        ["2", "pipe:[N]"],
      ]);
      const directory = `/proc/${machine.agentPid(handle)}/fd`;
      const others = readdirSync(directory).flatMap((fd) => {
        try {
          return [readlinkSync(`${directory}/${fd}`)];
        } catch {
          return []; // The agent has closed this one meanwhile.
        }
      });
      expect(others.filter((target) => target.includes(machine.dataDir))).toEqual([]);
    });

    test("leaves no mount on the machine", () => {
      expect(readFileSync("/proc/self/mountinfo", "utf8")).not.toContain(handle.sandboxId);
    });

    test("has the few privileges that it needs, in its own namespace", async () => {
      const status = (await inside("grep -E '^(CapBnd|Seccomp|NoNewPrivs):' /proc/self/status; sudo -u user sudo id -u")).output;
      expect(status.split("\n").map((line) => line.replace(/\t/g, ""))).toEqual([
        "CapBnd:00000000a00c25fb",
        "NoNewPrivs:0",
        "Seccomp:2",
        "0",
        "",
      ]);
    });

    test("sees neither the machine's disks nor the disk accounts of other sandboxes", async () => {
      const { output } = await inside(
        "ls -A /sys/block /sys/fs/btrfs; cat /sys/class/block/loop*/size /sys/block/*/loop/backing_file 2>/dev/null; find /sys -name qgroups 2>/dev/null",
      );
      expect(output.split("\n").filter((line) => line !== "" && !line.endsWith(":"))).toEqual([]);
    });

    test("sees its own limit and usage as the machine's memory", async () => {
      const { output } = await inside("cat /proc/meminfo");
      const bytes = (name: string) => Number(new RegExp(`^${name}: +(\\d+) kB$`, "m").exec(output)?.[1]) * 1024;
      const used = bytes("MemTotal") - bytes("MemAvailable");
      expect(bytes("MemTotal")).toBe(machine.spec().resources.memoryBytes);
      expect([used > 0, used < 200 << 20]).toEqual([true, true]);
    });

    test("cannot prevent its removal by the names of its cgroups", async () => {
      const other = await machine.boot();
      const otherAddress = await machine.driver.address(other);
      await initAgent(otherAddress);
      const group = join(findHierarchies().unified, `boxyard-${readInstance(machine.dataDir)?.instance}`, other.sandboxId);
      const made = await exec(
        otherAddress,
        `cd /sys/fs/cgroup/user && d="$(printf 'a\\377b')" && mkdir -p "$d/$(printf '\\200')" && { sleep 1000 >/dev/null 2>&1 & } && echo $! > "$d/cgroup.procs"`,
      );
      expect(made).toMatchObject({ exitCode: 0, output: "" });
      // The attack is in place: on the machine there is a cgroup whose name is no UTF-8, with a process in it.
      const name = Buffer.from("a\xffb", "latin1");
      const place = Buffer.concat([Buffer.from(`${group}/user/`), name]);
      expect(readdirSync(join(group, "user"), { encoding: "buffer" }).some((entry) => name.equals(entry))).toBe(true);
      expect(readdirSync(place, { encoding: "buffer" }).some((entry) => entry.equals(Buffer.from([0o200])))).toBe(true);
      const pid = Number.parseInt(readFileSync(Buffer.concat([place, Buffer.from("/cgroup.procs")]), "utf8"), 10);
      expect([pid > 0, existsSync(`/proc/${pid}`)]).toEqual([true, true]);
      await machine.driver.destroy(other);
      expect((await machine.driver.list()).map(({ sandboxId }) => sandboxId)).not.toContain(other.sandboxId);
      expect([existsSync(group), existsSync(`/proc/${pid}`)]).toEqual([false, false]);
    }, 60_000);

    test("reads no file of another sandbox, and shares no id with it", async () => {
      const other = await machine.boot();
      const otherAddress = await machine.driver.address(other);
      await initAgent(otherAddress);
      await exec(otherAddress, "echo open-sesame > /tmp/secret; chmod 777 /tmp/secret; sleep 1000 >/dev/null 2>&1 &");
      await exec(address, "echo open-sesame > /tmp/own; sleep 2000 >/dev/null 2>&1 &");
      const volume = join(machine.dataDir, "pool/sandboxes", other.sandboxId);
      // The file is where the attack looks for it: the machine reads it there, and the other sandbox reads it by its own path.
      expect(readFileSync(`${volume}/upper/tmp/secret`, "utf8")).toBe("open-sesame\n");
      const look = `cat /tmp/secret; cat ${volume}/upper/tmp/secret; grep -l sesame -r /tmp /run /home /mnt /srv 2>/dev/null; pgrep -a sleep | cut -d' ' -f2-`;
      expect((await exec(otherAddress, look)).output.split("\n").toSorted()).toEqual(
        ["", "/tmp/secret", "open-sesame", "sleep 1000", `cat: ${volume}/upper/tmp/secret: No such file or directory`].toSorted(),
      );
      // The same search finds the attacker's own file and process, and nothing else.
      const missing = ["/tmp/secret", `${volume}/upper/tmp/secret`].map((path) => `cat: ${path}: No such file or directory`);
      expect((await inside(look)).output.split("\n").toSorted()).toEqual(["", "/tmp/own", "sleep 2000", ...missing].toSorted());
      expect(statSync(`/proc/${machine.initPid(other)}`).uid - statSync(`/proc/${machine.initPid(handle)}`).uid).not.toBe(0);
      await machine.driver.destroy(other);
    }, 60_000);
  });

/** Owner and mode of every device node of the machine, without terminals and loop devices, which other programs make and remove. */
function deviceNodes(directory = "/dev"): string {
  const lines = readdirSync(directory, { withFileTypes: true }).flatMap((entry) => {
    const path = join(directory, entry.name);
    if (/^(pts|shm|mqueue|loop|fd)/.test(entry.name) || entry.isSymbolicLink()) return [];
    if (entry.isDirectory()) return [deviceNodes(path)];
    const { uid, gid, mode } = statSync(path);
    return [`${path} ${uid}:${gid} ${mode.toString(8)}`];
  });
  return lines.sort().join("\n");
}
