import { afterAll, afterEach, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statfsSync, statSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { eventually, makeSmallDisk, type SmallDisk, staysTrueFor, tryAll } from "@boxyard/testkit";
import { pool as poolCheck } from "../doctor/checks/storage.ts";
import { chunksOf } from "../sys/btrfs-chunks.ts";
import { exec, initAgent } from "../testing/exec.ts";
import { TestMachine } from "../testing/machine.ts";
import { piecesToAllocate } from "./ahead.ts";
import { isPoolReadOnly } from "./mount.ts";
import { poolPaths } from "./paths.ts";

/* A pool that may grow to 8 GiB on a disk of 4 GiB, which another program fills while data of sandboxes is still in memory, not yet on the disk. */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const DISK_MIB = 4096;

let small: SmallDisk;
let machine: TestMachine;
const ballast = () => join(small.path, "ballast");

beforeAll(async () => {
  small = makeSmallDisk(DISK_MIB);
  machine = await TestMachine.make(undefined, small.path);
}, 600_000);
afterEach(async () => {
  rmSync(ballast(), { force: true });
  await machine?.destroyAll();
}, 60_000);
afterAll(async () => {
  await tryAll([() => machine?.dispose(), () => small.remove()]);
}, 120_000);

async function boot(diskMib = 1024): Promise<{ handle: SandboxHandle; address: AgentAddress }> {
  const handle = await machine.boot(machine.spec({ diskBytes: diskMib * MIB }));
  const address = await machine.driver.address(handle);
  await initAgent(address);
  return { handle, address };
}

function freeOnDisk(): number {
  const { bavail, bsize } = statfsSync(small.path);
  return bavail * bsize;
}

const allocatedBytes = () => statSync(join(machine.dataDir, "pool.img")).blocks * 512;

/** Another program writes as fast as it can, until the disk is full. */
async function fillByWriting(): Promise<void> {
  await Bun.spawn(["dd", "if=/dev/zero", `of=${ballast()}`, "bs=1M", "oflag=direct"], { stderr: "ignore" }).exited;
  await Bun.spawn(["sh", "-c", `cat /dev/zero >> ${ballast()}`], { stderr: "ignore" }).exited;
  expect(freeOnDisk()).toBeLessThan(MIB / 4);
}

/** Another program fills the disk in one moment, before the pool's server can react. */
async function fillAtOnce(): Promise<void> {
  await Bun.spawn(["sh", "-c", `fallocate -l ${freeOnDisk() - 8 * MIB} ${ballast()}; cat /dev/zero >> ${ballast()}`], { stderr: "ignore" })
    .exited;
  expect(freeOnDisk()).toBeLessThan(MIB / 4);
}

/** Writes everything to the disk, then reads the file from the disk, not from the page cache. */
const FROM_DISK = "sync /srv/kept && dd if=/srv/kept bs=1M iflag=direct status=none | b2sum -l 256";

async function writeAndCompare(fill: () => Promise<void>): Promise<void> {
  const { address } = await boot();
  const { output: written } = await exec(address, "head -c 64M /dev/urandom > /srv/kept && b2sum -l 256 < /srv/kept");
  expect(written).toMatch(/^[0-9a-f]{64} /);
  await fill();
  expect(await exec(address, FROM_DISK)).toMatchObject({ exitCode: 0, output: written });
  expect(isPoolReadOnly(machine.dataDir)).toBe(false);
}

/** Size of the pieces that must be allocated for the file system's current chunks, bytes. */
function wantedBytes(): number {
  const { image, root } = poolPaths(machine.dataDir);
  const pieces = piecesToAllocate({ chunks: chunksOf(root), sizeBytes: statSync(image).size }, 768 * MIB, true);
  return pieces.reduce((sum, { bytes }) => sum + bytes, 0);
}

test("the pool has the blocks that it writes to next, and gets more when it has used them", async () => {
  const areAllocated = () => allocatedBytes() >= wantedBytes();
  await eventually("they are allocated", areAllocated);
  const { address } = await boot();
  const before = wantedBytes();
  expect((await exec(address, "head -c 400M /dev/zero > /srv/some && sync /srv/some")).exitCode).toBe(0);
  expect(wantedBytes()).toBeGreaterThan(before);
  await eventually("more are allocated", areAllocated);
});

test("a driver that opens again counts the blocks that are already allocated", async () => {
  const { handle } = await boot();
  await eventually("they are allocated", () => allocatedBytes() >= wantedBytes());
  const before = allocatedBytes();
  await machine.reopen();
  // The pool's trees may grow a little meanwhile; a second share would be hundreds of MiB.
  await staysTrueFor(5_000, "no second share is allocated", () => allocatedBytes() < before + 128 * MIB);
  await machine.driver.destroy(handle);
});

test("data of a sandbox is kept when another program has filled the disk by writing", () => writeAndCompare(fillByWriting));

test("data of a sandbox is kept when another program has taken all of the disk at once", () => writeAndCompare(fillAtOnce));

/** Each file has its number and the same random block: no file is like another, and no part of one like what the disk had there before. */
const FILE = "{ echo $i && cat /dev/shm/block; }";
/**
 * Writes files until a write fails, and prints the number of each file that was written whole.
 * Time alone: the writes are spread over the time that the other program needs to fill the disk.
 */
const WRITE_FILES = `head -c 4M /dev/urandom > /dev/shm/block; i=0; while ${FILE} > /srv/kept-$i && [ $i -lt 150 ]; do echo kept $i; i=$((i+1)); sleep 0.02; done`;
/** Prints the number of each file that is on the disk as it was written. */
const READ_FILES = (count: number) =>
  `sync; for i in $(seq 0 ${count - 1}); do ${FILE} > /dev/shm/same; dd if=/srv/kept-$i bs=1M iflag=direct status=none | cmp -s - /dev/shm/same && echo kept $i; done`;

test("a write of a sandbox while another program fills the disk is kept, or was refused", async () => {
  const { address } = await boot();
  const writing = exec(address, WRITE_FILES, { timeoutMs: 60_000 });
  await fillByWriting();
  const taken = (await writing).output.split("\n").filter((line) => /^kept \d+$/.test(line));
  expect(taken.length).toBeGreaterThan(0);
  const { output } = await exec(address, READ_FILES(taken.length), { timeoutMs: 60_000 });
  expect(output.trimEnd().split("\n")).toEqual(taken);
  expect(isPoolReadOnly(machine.dataDir)).toBe(false);
});

test("on a full disk writes fail, doctor names the reason, and writes work again when there is room", async () => {
  // More than the whole disk has, so the blocks allocated ahead cannot be enough.
  const { address } = await boot(DISK_MIB);
  await fillAtOnce();
  const write = (mib: number) => `dd if=/dev/zero of=/srv/more bs=1M count=${mib} conv=fsync; sync`;
  const { output } = await exec(address, write(DISK_MIB), { timeoutMs: 100_000 });
  // Where the machine is busy, all of it is in memory before the guard lowers the limit: then the pool has no room for what is written back.
  expect(output).toMatch(/Disk quota exceeded|No space left on device/);
  expect(isPoolReadOnly(machine.dataDir)).toBe(false);
  const context = { dataDir: machine.dataDir, instance: undefined, runtime: undefined };
  expect(await poolCheck.look(context)).toMatchObject({ status: "warn", found: expect.stringContaining("host_disk_full") });
  rmSync(ballast());
  await eventually(
    "it can write again",
    async () => (await exec(address, `set -e; ${write(900)}; echo all of it`)).output.includes("all of it"),
    // Another program of the machine may write too; each attempt writes 900 MiB.
    { withinMs: 150_000 },
  );
}, 300_000);
