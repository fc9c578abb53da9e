import { expect, test } from "bun:test";
import { closeSync, openSync, statSync } from "node:fs";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { python } from "./support/python.ts";

/*
 * An inode that two sandboxes share is a channel between them: watches see the other's opens, locks meet, times that one sets the other
 * reads. What every sandbox has of the platform, the guest bundle and the device nodes, must be inodes of its own.
 */

const platform = usePlatform();

const BUNDLE = ["init", "agent", "launch", "lib/ld.so", "lib", "."].map((name) => `/.boxyard/${name}`);
const DEVICES = ["null", "zero", "full", "random", "urandom", "tty"].map((name) => `/dev/${name}`);

/** Watches files until /tmp/stop exists, writes down what was seen, then opens each itself, which it must see. */
const WATCH = `
import ctypes, json, os, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
fd = libc.inotify_init1(os.O_NONBLOCK)
paths = sys.argv[1:]
watches = {libc.inotify_add_watch(fd, path.encode(), 0xfff): path for path in paths}
assert -1 not in watches, ctypes.get_errno()
def seen():
    names = set()
    while True:
        try: data = os.read(fd, 65536)
        except BlockingIOError: return sorted(names)
        while data:
            watch, _, _, length = struct.unpack("iIII", data[:16])
            names.add(watches[watch])
            data = data[16 + length:]
open("/tmp/ready", "w").close()
while not os.path.exists("/tmp/stop"): time.sleep(0.02)
others = seen()
for path in paths:
    try: os.close(os.open(path, os.O_RDONLY | os.O_NOCTTY))
    except OSError: os.listdir("/dev")
own = seen()
with open("/tmp/seen.new", "w") as file: json.dump({"others": others, "own": own}, file)
os.rename("/tmp/seen.new", "/tmp/seen")
`;

/** What a watcher in `sandbox` sees of the files while `act` runs elsewhere, and what it sees of its own opens. */
async function watchDuring(
  sandbox: HeldSandbox,
  paths: readonly string[],
  act: () => Promise<void>,
): Promise<{ others: string[]; own: string[] }> {
  await sandbox.asRoot("rm -f /tmp/ready /tmp/stop /tmp/seen");
  await sandbox.client.files.write("/tmp/watch.py", WATCH);
  await sandbox.client.commands.run(`python3 /tmp/watch.py ${paths.join(" ")}`, { background: true, user: "root", timeoutMs: 0 });
  await eventually("the watch stands", () => sandbox.client.files.exists("/tmp/ready"));
  await act();
  await sandbox.client.files.write("/tmp/stop", "");
  await eventually("the watch ends", () => sandbox.client.files.exists("/tmp/seen"));
  return JSON.parse(await sandbox.client.files.read("/tmp/seen", { user: "root" })) as { others: string[]; own: string[] };
}

test("a watch on the guest bundle sees no other sandbox", async () => {
  await using watcher = await createSandbox(platform());
  const { others, own } = await watchDuring(watcher, BUNDLE, async () => {
    await using other = await createSandbox(platform());
    await other.asRoot("cat /.boxyard/init /.boxyard/lib/ld.so > /tmp/copy; ls /.boxyard /.boxyard/lib");
  });
  expect(own).toEqual([...BUNDLE].sort());
  expect(others).toEqual([]);
});

test("a watch on a device node sees neither the machine nor another sandbox", async () => {
  await using watcher = await createSandbox(platform());
  const { others, own } = await watchDuring(watcher, DEVICES, async () => {
    for (const path of DEVICES.filter((path) => path !== "/dev/tty")) closeSync(openSync(path, "r"));
    await using other = await createSandbox(platform());
    await other.asRoot("for f in null zero full random urandom; do head -c 1 /dev/$f > /dev/null; done");
  });
  // No terminal to open: /dev/tty is watched, but says ENXIO.
  expect(own.filter((path) => path !== "/dev/tty")).toEqual(DEVICES.filter((path) => path !== "/dev/tty").sort());
  expect(others).toEqual([]);
});

const LOCK = `
import fcntl, os, sys, time
files = [os.open(path, os.O_RDONLY) for path in sys.argv[1:]]
try:
    for fd in files: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    print("locked", flush=True)
except BlockingIOError: print("held by another", flush=True)
if "/tmp/hold" in open("/proc/self/environ").read():
    open("/tmp/hold", "w").close()
    time.sleep(60)
`;

test("a lock on the guest bundle or a device node is seen by no other sandbox", async () => {
  await using holder = await createSandbox(platform());
  await using other = await createSandbox(platform());
  const paths = "/.boxyard/agent /.boxyard/lib/ld.so /.boxyard /dev/null /dev/zero";
  for (const sandbox of [holder, other]) await sandbox.client.files.write("/tmp/lock.py", LOCK);
  await holder.client.commands.run(`python3 /tmp/lock.py ${paths}`, {
    background: true,
    user: "root",
    timeoutMs: 0,
    envs: { HOLD: "/tmp/hold" },
  });
  await eventually("the locks are held", () => holder.client.files.exists("/tmp/hold"));
  expect((await holder.asRoot(`python3 /tmp/lock.py ${paths}`)).stdout).toBe("held by another\n");
  expect((await other.asRoot(`python3 /tmp/lock.py ${paths}`)).stdout).toBe("locked\n");
});

test("times, owner and mode of a device node are the sandbox's own", async () => {
  await using sandbox = await createSandbox(platform());
  await using other = await createSandbox(platform());
  const facts = "stat -c '%n %Y %u %a' /dev/null /dev/zero /dev/full /dev/random /dev/urandom";
  const machine = () => DEVICES.map((path) => `${path} ${statSync(path).mtimeMs} ${statSync(path).uid} ${statSync(path).mode}`);
  const before = [machine(), (await other.asRoot(facts)).stdout];
  await python(sandbox, `import os\nfor name in ${JSON.stringify(DEVICES)}:\n  try: os.utime(name)\n  except OSError: pass`);
  await sandbox.asRoot(`chown 1000 ${DEVICES.join(" ")}; chmod 0600 ${DEVICES.join(" ")}; touch -d 2001-01-01 ${DEVICES.join(" ")}`);
  expect([machine(), (await other.asRoot(facts)).stdout]).toEqual(before);
});
