import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { eventually, makeSmallDisk, type SmallDisk, tryAll } from "@boxyard/testkit";
import { pool as poolCheck } from "../doctor/checks/storage.ts";
import { exec, initAgent } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";
import { isPoolMounted, isPoolReadOnly } from "./mount.ts";

/* A pool that may grow to 8 GiB on a disk of 2 GiB, without blocks allocated ahead (`allocate-ahead.root.test.ts` tests these). */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const DISK_MIB = 2048;

let small: SmallDisk;
let machine: TestMachine;
const run = (...argv: string[]) => {
  const { exitCode, stderr } = Bun.spawnSync(argv);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
};
const disk = () => small.path;
const ballast = () => join(disk(), "ballast");

beforeAll(async () => {
  small = makeSmallDisk(DISK_MIB);
  machine = await TestMachine.make(undefined, disk(), { aheadBytes: 0 });
}, 600_000);
afterAll(async () => {
  await tryAll([() => rmSync(ballast(), { force: true, recursive: true }), () => machine?.dispose(), () => small.remove()]);
}, 120_000);

async function boot(): Promise<{ handle: SandboxHandle; address: AgentAddress }> {
  const handle = await machine.boot(machine.spec({ diskBytes: 4096 * MIB }));
  const address = await machine.driver.address(handle);
  await initAgent(address);
  return { handle, address };
}

function freeOnDisk(): number {
  const { bavail, bsize } = statfsSync(disk());
  return bavail * bsize;
}

/** Trims the pool first: blocks that sandboxes of an earlier test have freed stay the pool's, and the kernel removes their files in the background. */
function takeAllOfDisk(): void {
  Bun.spawnSync(["fstrim", join(machine.dataDir, "pool")]);
  const bytes = freeOnDisk() - 64 * 1024;
  if (bytes > 0) run("fallocate", "-l", String(bytes), join(ballast(), crypto.randomUUID()));
}

const isWritable = () => isPoolMounted(machine.dataDir) && !isPoolReadOnly(machine.dataDir);

async function upload({ host, agentPort }: AgentAddress, path: string, bytes: number): Promise<[number, string]> {
  const response = await fetch(`http://${host}:${agentPort}/files?path=${path}&username=root`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
    body: new Uint8Array(bytes),
  });
  return [response.status, await response.text()];
}

const write = (mib: number) => `dd if=/dev/urandom of=/srv/written bs=1M count=${mib} conv=fsync && echo all of it`;

test("writes of sandboxes fail with EDQUOT before the disk below the pool is full", async () => {
  const [greedy, neighbour] = [await boot(), await boot()];
  const { output } = await exec(greedy.address, write(DISK_MIB), { timeoutMs: 100_000 });
  expect(output).toContain("Disk quota exceeded");
  expect(freeOnDisk()).toBeGreaterThan(128 * MIB);
  expect(isPoolReadOnly(machine.dataDir)).toBe(false);
  expect((await exec(neighbour.address, write(4))).output).toContain("all of it");
  for (const { handle } of [greedy, neighbour]) await machine.driver.destroy(handle);
});

test("when other programs fill that disk: no space is free, doctor says why, sandboxes can be ended, and all works again when there is room", async () => {
  const { address, handle } = await boot();
  mkdirSync(ballast());
  await eventually(
    "the pool takes no writes",
    async () => {
      takeAllOfDisk();
      await exec(address, `${write(64)}; sync`, { timeoutMs: 20_000 }).catch(() => {});
      return isPoolReadOnly(machine.dataDir);
    },
    { withinMs: 60_000 },
  );
  expect((await machine.driver.capacity()).diskFreeBytes).toBe(0);
  const line = await poolCheck.look({ dataDir: machine.dataDir, instance: undefined, runtime: undefined });
  expect(line).toMatchObject({ status: "fail", fix: expect.stringContaining("Make room on the disk") });
  // As 'up' and 'down --sandboxes' do: the sandbox holds the file system, which stays read-only until the sandbox ends.
  await machine.reopen();
  expect(await machine.driver.list()).toEqual([handle]);
  await machine.driver.destroy(handle);
  // Its volume could not be removed. It is listed again once the pool is mounted anew, which may have happened by now.
  expect([[], [handle]]).toContainEqual([...(await machine.driver.list())]);
  rmSync(ballast(), { recursive: true });
  await eventually("the pool is mounted anew", isWritable, { withinMs: 30_000 });
  await machine.destroyAll();
  const again = await boot();
  expect((await exec(again.address, write(4))).output).toContain("all of it");
  await machine.driver.destroy(again.handle);
});

test("a pool that takes no writes answers uploads with 507, can be released, and opened again", async () => {
  const { address, handle } = await boot();
  expect((await upload(address, "/srv/kept", 1000))[0]).toBe(200);
  // A mount that is read-only by itself does not mean that space is short.
  expect((await upload(address, "/proc/sys/kernel/ostype", 10))[0]).toBe(403);
  run("mount", "-o", "remount,ro", join(machine.dataDir, "pool"));
  expect(isPoolReadOnly(machine.dataDir)).toBe(true);
  for (const path of ["/srv/kept", "/srv/new"]) {
    expect(await upload(address, path, 1000)).toEqual([507, expect.stringContaining("the disk below the sandbox takes no writes")]);
  }
  // As 'down --sandboxes' does, in a process of its own.
  await machine.reopen();
  await machine.driver.destroy(handle);
  // Its volume could not be removed, and is listed again once the pool is writable.
  await eventually("the pool is mounted anew", isWritable, { withinMs: 30_000 });
  expect(await machine.driver.list()).toEqual([handle]);
  await machine.driver.release();
  await machine.reopen();
  expect(await machine.driver.list()).toEqual([]);
  await machine.destroyAll();
  const again = await boot();
  expect((await exec(again.address, "echo works")).output).toBe("works\n");
});

test("a pool that could not be mounted anew at once is mounted later, also while there are paused sandboxes", async () => {
  await machine.destroyAll();
  const spec = machine.spec();
  const paused = await machine.boot(spec);
  const before = await machine.driver.address(paused);
  await initAgent(before);
  await exec(before, "echo kept > /root/kept");
  await machine.driver.pause(paused, { memory: false }, never);
  const unmount = () => Bun.spawnSync(["umount", join(machine.dataDir, "pool")]).exitCode === 0;
  await eventually("no process has the pool open for a moment, and it is unmounted", unmount);
  await eventually("the pool is mounted", isWritable, { withinMs: 30_000 });
  const resumed = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
  const address = await machine.driver.address(resumed);
  await initAgent(address);
  expect((await exec(address, "cat /root/kept")).output).toBe("kept\n");
  await machine.driver.destroy(resumed);
});
