import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { usePlatform } from "../support/platform.ts";

/** Sizes of real sandboxes: the kernel enforces them, and what programs read inside follows. */
const platform = usePlatform();
const target = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const MIB = 2 ** 20;

async function seen(sandbox: Sandbox) {
  const { stdout } = await sandbox.commands.run(
    "free -m | awk '/Mem:/ {print $2}'; cat /.boxyard/host/limits.json; echo; df -m --output=size /dev/shm",
  );
  const [total, limits = "", , shared] = stdout.trim().split("\n");
  const { memoryBytes, diskBytes, cpuCount } = JSON.parse(limits) as { memoryBytes: number; diskBytes: number; cpuCount: number };
  // Half of the memory, after everything that a sandbox is taken through.
  expect(Number(shared)).toBe(memoryBytes / MIB / 2);
  return { total: Number(total), memoryMB: memoryBytes / MIB, diskMB: diskBytes / MIB, cpuCount };
}

/** Takes memory in a process that goes on, and returns when it has it. */
const hold = (sandbox: Sandbox, mib: number) =>
  sandbox.commands.run(
    `rm -f /tmp/held; python3 -c 'import signal; held = bytearray(${mib} << 20); open("/tmp/held", "w").close(); signal.pause()' & until [ -e /tmp/held ] || ! kill -0 $!; do :; done; kill -0 $!`,
    { timeoutMs: 60_000 },
  );
const write = (sandbox: Sandbox, mib: number) =>
  sandbox.commands.run(`dd if=/dev/urandom of=/home/user/data bs=1M count=${mib} conv=fsync status=none`, { timeoutMs: 60_000 });

test("a create takes a size, which the kernel enforces; a resize changes it, up and down, and programs inside see it", async () => {
  await using sandbox = await Sandbox.create({ ...target(), resources: { cpuCount: 0.5, memoryMB: 200, diskSizeMB: 64 } });
  expect(await seen(sandbox)).toEqual({ total: 200, memoryMB: 200, diskMB: 64, cpuCount: 0.5 });
  await expect(hold(sandbox, 300)).rejects.toThrow();
  await expect(write(sandbox, 100)).rejects.toThrow("quota");

  const info = await sandbox.resize({ cpuCount: 1, memoryMB: 600, diskSizeMB: 200 });
  expect([info.cpuCount, info.memoryMB, info.diskSizeMB]).toEqual([1, 600, 200]);
  expect(await seen(sandbox)).toEqual({ total: 600, memoryMB: 600, diskMB: 200, cpuCount: 1 });
  await write(sandbox, 100);
  await hold(sandbox, 300);

  // Below what it uses: refused with the figure, and nothing is killed.
  await expect(sandbox.resize({ memoryMB: 250 })).rejects.toMatchObject({
    reason: "memory_in_use",
    message: expect.stringMatching(/3\d\d MiB/),
  });
  await expect(sandbox.resize({ diskSizeMB: 80 })).rejects.toMatchObject({ reason: "disk_in_use" });
  await expect(sandbox.resize({ memoryMB: 10_000_000 })).rejects.toMatchObject({ reason: "size_too_large" });
  expect(await seen(sandbox)).toMatchObject({ memoryMB: 600, diskMB: 200 });
  expect((await sandbox.commands.run("pgrep -c python3")).stdout.trim()).toBe("1");
  await sandbox.resize({ memoryMB: 450 });

  // Kept over all that a sandbox is taken through.
  const [copy] = await sandbox.fork();
  if (!copy?.sandbox) throw copy?.error;
  expect(await seen(copy.sandbox)).toEqual({ total: 450, memoryMB: 450, diskMB: 200, cpuCount: 1 });
  await copy.sandbox.kill();
  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    await sandbox.resume();
    expect([keepMemory, await seen(sandbox)]).toEqual([keepMemory, { total: 450, memoryMB: 450, diskMB: 200, cpuCount: 1 }]);
  }
  await platform().kill9();
  await platform().restart();
  await sandbox.resize({ memoryMB: 300 });
  expect(await seen(sandbox)).toMatchObject({ total: 300, memoryMB: 300 });
  await expect(hold(sandbox, 400)).rejects.toThrow();
}, 180_000);

/** What programs count, and what a program of OpenMP starts. */
const threads = async (sandbox: Sandbox, envs: Readonly<Record<string, string>> = {}) =>
  (await sandbox.commands.run('echo "$(nproc) $OMP_NUM_THREADS"', { envs })).stdout.trim();

test("nproc and OMP_NUM_THREADS of commands follow the size and a resize; what the caller or the create sets wins", async () => {
  // Two processors are what every machine of the tests has.
  await using sandbox = await Sandbox.create({ ...target(), resources: { cpuCount: 0.5 } });
  expect(await threads(sandbox)).toBe("1 1");
  await sandbox.resize({ cpuCount: 1.5 });
  expect(await threads(sandbox)).toBe("2 2");
  expect(await threads(sandbox, { OMP_NUM_THREADS: "7" })).toBe("7 7");
  await sandbox.resize({ cpuCount: 1 });
  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    await sandbox.resume();
    expect([keepMemory, await threads(sandbox)]).toEqual([keepMemory, "1 1"]);
  }
  const [copy] = await sandbox.fork();
  if (!copy?.sandbox) throw copy?.error;
  await copy.sandbox.resize({ cpuCount: 2 });
  expect([await threads(copy.sandbox), await threads(sandbox)]).toEqual(["2 2", "1 1"]);
  await copy.sandbox.kill();

  await using own = await Sandbox.create({ ...target(), resources: { cpuCount: 1 }, envs: { OMP_NUM_THREADS: "3" } });
  expect(await threads(own)).toBe("3 3");
}, 120_000);

test("/dev/shm follows the memory while files are in it, and keeps what it holds", async () => {
  await using sandbox = await Sandbox.create({ ...target(), resources: { memoryMB: 256 } });
  const fill = (mib: number) => sandbox.commands.run(`head -c ${mib}M /dev/zero > /dev/shm/held && stat -c %s /dev/shm/held`);
  await expect(fill(160)).rejects.toThrow("No space left");
  await sandbox.resize({ memoryMB: 512 });
  expect((await fill(200)).stdout.trim()).toBe(String(200 * MIB));
  // Less than its files take would be half of this.
  await sandbox.resize({ memoryMB: 320 });
  const room = async () =>
    (await sandbox.commands.run("df -m --output=size,used /dev/shm | tail -1")).stdout.trim().split(/ +/).map(Number);
  expect(await room()).toEqual([200, 200]);
  await sandbox.commands.run("rm /dev/shm/held");
  await sandbox.resize({ memoryMB: 320 });
  expect(await room()).toEqual([160, 0]);
}, 60_000);
