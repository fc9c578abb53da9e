import { beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, watch, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { SandboxHandle } from "@boxyard/driver";
import { failure } from "@boxyard/driver/contract-suite";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

const MIB = 1 << 20;

/**
 * Processes without end that watch every file of /data/watched, each by an instance of its own; they hold what they got until they are killed. Prints how
 * many got an instance, how many watches there are in all, and why the others failed.
 */
const WATCH_BOMB = `
import ctypes, errno, os, signal
libc = ctypes.CDLL(None, use_errno=True)
os.makedirs("/data/watched", exist_ok=True)
paths = [f"/data/watched/{i}".encode() for i in range(1100)]
for path in paths: open(path, "w").close()
def hold():
    fd = libc.inotify_init1(0)
    if fd < 0: return 0, 0, errno.errorcode[ctypes.get_errno()]
    for taken, path in enumerate(paths):
        if libc.inotify_add_watch(fd, path, 0xfff) < 0: return 1, taken, errno.errorcode[ctypes.get_errno()]
    return 1, len(paths), "all"
results, told = os.pipe()
alive, parent = os.pipe()
for _ in range(72):
    if os.fork() == 0:
        os.close(parent)
        os.write(told, (" ".join(map(str, hold())) + "\\n").encode())
        os.read(alive, 1)
        os._exit(0)
os.close(told)
lines = open(results)
got = [lines.readline().split() for _ in range(72)]
print(sum(int(one[0]) for one in got), sum(int(one[1]) for one in got), *sorted({one[2] for one in got}), flush=True)
signal.pause()
`;

/** Watches /data/watched, writes down that it does, and prints the name of what is made there. */
const WATCH = `
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(0)
assert libc.inotify_add_watch(fd, b"/data/watched", 0x100) > 0, ctypes.get_errno()
print("watches", flush=True)
print(os.read(fd, 4096)[16:].rstrip(bytes(1)).decode(), flush=True)
`;

/** What root of one sandbox does to a volume that another sandbox has too. */
describe("a hostile user of a volume", () => {
  setDefaultTimeout(60_000);
  const machine = useTestMachine();
  let attacker: SandboxHandle;
  let other: SandboxHandle;
  const disk = (id = "v") => join(machine.dataDir, "pool/volumes", id, "disk");
  const run = async (handle: SandboxHandle, command: string, user = "root") =>
    (await exec(await machine.driver.address(handle), command, { user })).output.trim();
  const boot = async (readOnly: boolean) => {
    const volumes = [
      { volume: "v", path: "/data", readOnly },
      { volume: "w", path: "/own", readOnly: false },
    ];
    const handle = await machine.boot({ ...machine.spec(), volumes });
    await initAgent(await machine.driver.address(handle));
    return handle;
  };

  beforeAll(async () => {
    for (const id of ["v", "w"]) await machine.driver.volumes.create(id, { limitBytes: 24 * MIB });
    attacker = await boot(false);
    other = await boot(true);
  }, 600_000);

  test("its links lead to no file of the machine, and the parent of its root is the sandbox's", async () => {
    await run(
      attacker,
      "ln -s /etc/hostname /data/absolute; ln -s ../../../../../etc/hostname /data/upward; ln -s /proc/1/root/etc /data/magic",
    );
    expect(await run(other, "cat /data/absolute /data/upward")).toBe("test\ntest");
    expect(await run(attacker, "ls -a /data/.. | grep -c boxyard; ls -di /data/../etc /etc | awk '{print $1}' | uniq | wc -l")).toBe(
      "1\n1",
    );
    for (const link of ["absolute", "upward", "magic/hostname"]) {
      expect(await failure(machine.driver.volumes.content.read("v", link, { signal: never }))).toBe("not_found path_not_found");
    }
  });

  test("device nodes cannot be made, and those that are there cannot be opened", async () => {
    expect(await run(attacker, "mknod /data/disk b 7 0 2>&1; mknod /data/mem c 1 1 2>&1")).toMatch(/(not permitted[\s\S]*){2}/);
    expect(Bun.spawnSync(["mknod", "-m", "666", join(disk(), "zero"), "c", "1", "5"]).exitCode).toBe(0);
    expect(await run(attacker, "head -c1 /data/zero 2>&1")).toContain("Permission denied");
  });

  test("set-user-id bits and file capabilities have no effect", async () => {
    await run(
      attacker,
      "cp /usr/bin/id /data/id; chown 0:0 /data/id; chmod 6755 /data/id; setcap cap_net_raw+ep /data/id 2>/dev/null; true",
    );
    for (const handle of [attacker, other]) expect(await run(handle, "/data/id -u; /data/id -g", "user")).toBe("1000\n1000");
  });

  test("the mount cannot be removed or changed, and a read-only one stays so", async () => {
    const REMOUNT_BIND = 0x1020;
    const program = [
      "import ctypes, errno; c = ctypes.CDLL(None, use_errno=True)",
      "def say(r): print(errno.errorcode[ctypes.get_errno()] if r else 'done')",
      "say(c.umount2(b'/data', 2))",
      `say(c.mount(b'none', b'/data', None, ${REMOUNT_BIND}, None))`,
      "say(c.mount(b'/data', b'/mnt', None, 0x1000, None))",
    ].join("\n");
    for (const handle of [attacker, other]) {
      expect(await run(handle, `python3 - <<'END'\n${program}\nEND`)).toBe("EPERM\nEPERM\nEPERM");
    }
    const { output } = await exec(
      await machine.driver.address(other),
      "touch /data/x; chmod 700 /data; rm /data/id; mkdir /data/y; ln -s x /data/z; echo x >> /data/id",
    );
    expect(output.match(/Read-only file system/g)?.length).toBe(6);
    expect(await run(attacker, "grep ' /data ' /proc/self/mounts")).toMatch(/nosuid.*nodev|nodev.*nosuid/);
  });

  test("no subvolume can be made, copied or removed, and no flag of one set", async () => {
    const program = [
      "import fcntl, os, struct, errno",
      "d = os.open('/data', os.O_RDONLY)",
      "name = struct.pack('q4088s', 0, b'sub')",
      "v2 = struct.pack('qqq16s4040s8x', d, 0, 0, b'', b'sub2')",
      "for command, argument in ((0x5000940e, name), (0x50009418, v2), (0x50009401, struct.pack('q4088s', d, b'snap')), (0x50009417, v2), (0x5000940f, name), (0x4008941a, struct.pack('q', 2))):",
      "    try: fcntl.ioctl(d, command, bytearray(argument)); print('done')",
      "    except OSError as e: print(errno.errorcode[e.errno])",
    ].join("\n");
    expect(await run(attacker, `python3 - <<'END'\n${program}\nEND`)).toBe(Array.from({ length: 6 }, () => "ENOTTY").join("\n"));
    expect(await run(attacker, "touch /data/still-writable && ls /data | grep -c sub")).toBe("0");
  });

  test("its limit holds for shared data, links and holes, and other volumes are not affected", async () => {
    expect(await run(attacker, "touch /root/f; ln /root/f /data/hard 2>&1; ln /data/id /own/hard 2>&1")).toMatch(
      /(cross-device[\s\S]*){2}/i,
    );
    await run(attacker, "head -c 8M /dev/urandom > /data/big; truncate -s 10G /data/hole; cp --reflink=always /data/big /data/shared");
    expect(
      await run(attacker, "stat -c %s /data/shared; head -c 30M /dev/urandom > /data/more; sync /data/more; stat -c %s /data/more"),
    ).not.toMatch(/31457280/);
    const used = (await machine.driver.volumes.get("v"))?.usedBytes ?? 0;
    expect(used).toBeLessThanOrEqual(24 * MIB);
    expect(await run(other, "head -c 4M /dev/urandom > /own/x && stat -c %s /own/x")).toBe(`${4 * MIB}`);
    await run(attacker, "rm -f /data/big /data/shared /data/more /data/hole");
  });

  test("a fork bomb of watches on it ends at the attacker's own limits; others and the machine go on watching", async () => {
    const start = async (handle: SandboxHandle, name: string, program: string) => {
      await run(
        handle,
        `cat > /root/${name}.py <<'END'\n${program}\nEND\npython3 /root/${name}.py > /root/${name} 2>&1 < /dev/null & echo $! > /root/${name}.pid`,
      );
    };
    const shows = (handle: SandboxHandle, name: string, what: RegExp) =>
      eventually(`${name} shows ${what}`, async () => what.test(await run(handle, `cat /root/${name}`)), { withinMs: 50_000 });
    await start(attacker, "bomb", WATCH_BOMB);
    await shows(attacker, "bomb", /\S/);
    const [instances, watches, ...why] = (await run(attacker, "cat /root/bomb")).split(" ");
    // The agent may have an instance of its own.
    expect(Number(instances)).toBeGreaterThan(50);
    expect(Number(instances)).toBeLessThanOrEqual(64);
    expect(Number(watches)).toBeGreaterThan(50_000);
    expect(Number(watches)).toBeLessThanOrEqual(65_536);
    expect(why).toEqual(["EMFILE", "ENOSPC", "all"]);
    // All of it is held now.
    await start(other, "modest", WATCH);
    await shows(other, "modest", /^watches$/m);
    await run(attacker, "touch /data/watched/new");
    await shows(other, "modest", /^new$/m);
    const seen = Promise.withResolvers<void>();
    const own = watch(machine.dataDir, () => seen.resolve());
    writeFileSync(join(machine.dataDir, "watched"), "");
    await seen.promise;
    own.close();
    await run(attacker, "kill -9 $(cat /root/bomb.pid); rm -r /data/watched");
  });

  test("deep trees and many names can be listed in parts, and removed without a sandbox", async () => {
    await run(
      attacker,
      "mkdir /data/t; cd /data/t; python3 -c \"\nimport os\nfor i in range(6000): os.mkdir('d'); os.chdir('d')\n\"; cd /data; mkdir /data/many; cd /data/many; seq 21000 | xargs touch",
    );
    const { content } = machine.driver.volumes;
    expect((await content.list("v", "t", { depth: 256 })).length).toBe(256);
    expect(await failure(content.list("v", "many", { depth: 1 }))).toBe("resource_exhausted too_many_entries");
    for (const name of ["t", "many"]) await content.remove("v", name);
    mkdirSync(join(disk(), "t"));
  });
});
