import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type AppError, isAppError } from "@boxyard/core";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually, makeSmallDisk, type SmallDisk, tryAll } from "@boxyard/testkit";
import { isPoolReadOnly } from "../pool-storage/mount.ts";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";
import { withCriu } from "../testing/other-criu.ts";

/* Pauses and snapshots without room for their memory: in the pool, before and while CRIU writes, and on the disk below the pool. */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const HELD_MIB = 200;
/** A random MiB, repeated: what compresses the pages looks back much less far. */
const HOLD = `import os, time; m = os.urandom(1 << 20) * ${HELD_MIB}; open('/root/held', 'w').write('x'); time.sleep(1e6)`;
const DISK_MIB = 3072;
const COUNT = "/dev/shm/count";

let machine: TestMachine;
let spec: SandboxSpec;
let handle: SandboxHandle;

async function boot(): Promise<void> {
  spec = machine.spec({ memoryBytes: 512 * MIB });
  handle = await bootHolding(spec);
}

/** A sandbox with a program that holds much memory, and a loop that counts. */
async function bootHolding(wanted: SandboxSpec): Promise<SandboxHandle> {
  const handle = await machine.boot(wanted);
  const address = await machine.driver.address(handle);
  await initAgent(address);
  await startUnread(address, `exec python3 -c "${HOLD}"`);
  await startUnread(address, countInto(COUNT));
  await eventually("it holds much", async () => (await exec(address, "cat /root/held")).output === "x");
  return handle;
}
const count = async () => Number((await exec(await machine.driver.address(handle), lastCount(COUNT))).output);

async function goesOn(): Promise<void> {
  await initAgent(await machine.driver.address(handle));
  const seen = await count();
  await eventually("it counts on", async () => (await count()) > seen);
  expect((await exec(await machine.driver.address(handle), "cat /proc/[0-9]*/comm 2> /dev/null | grep -c python3")).output).toBe("1\n");
}

const KINDS = {
  pause: () => machine.driver.pause(handle, { memory: true }, never),
  snapshot: () => machine.driver.snapshots.capture(handle, { id: "full", memory: true }, never),
};

/** The pause or snapshot fails for lack of room, nothing of it is left, and the sandbox runs on. */
async function failsForLackOfRoom(kind: keyof typeof KINDS): Promise<AppError> {
  const error = await KINDS[kind]().then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  if (!isAppError(error)) throw new Error(`not refused: ${error}`);
  expect([error.code, error.message]).toEqual(["resource_exhausted", expect.any(String)]);
  expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
  expect((await machine.driver.inspect(handle)).phase).toBe("running");
  const left = ["generations", "snapshots"].flatMap((name) =>
    readdirSync(join(machine.dataDir, "pool", name), { recursive: true, encoding: "utf8" }),
  );
  expect(left.filter((name) => name !== spec.sandboxId)).toEqual([]);
  await goesOn();
  return error;
}

/** Removed files are free space only after the file system has written the removal. */
const isThereRoom = () =>
  eventually("there is room again", async () => (await machine.driver.capacity()).diskFreeBytes > 1.5 * HELD_MIB * MIB, {
    withinMs: 30_000,
  });

/** The same works once there is room again. */
async function isPausedAndResumed(): Promise<void> {
  await isThereRoom();
  await machine.driver.pause(handle, { memory: true }, never);
  handle = await machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);
  await goesOn();
}

describe("of the pool", () => {
  const ballast = () => join(machine.dataDir, "pool/ballast");
  /** Fills the pool except for `leftMib`, with files of decreasing size. */
  const fill = (leftMib: number) => `
    mkdir -p ${ballast()}; n=0
    for size in 1024 256 64 16 4 1; do
      while [ $(($(stat -f -c '%a * %S' ${ballast()}) / 1048576)) -ge $((size + ${leftMib})) ] && fallocate -l \${size}M ${ballast()}/$((n += 1)) 2>/dev/null; do :; done
    done; sync -f ${ballast()}`;
  const empty = () => {
    rmSync(ballast(), { recursive: true, force: true });
    Bun.spawnSync(["sync", "-f", join(machine.dataDir, "pool")]);
  };
  beforeAll(async () => {
    machine = await TestMachine.make();
  }, 600_000);
  beforeEach(() => boot());
  afterEach(async () => {
    empty();
    await machine.destroyAll();
  }, 60_000);
  afterAll(() => machine?.dispose(), 60_000);

  test("a pause or snapshot that would use the pool's reserve is refused before the sandbox is frozen", async () => {
    Bun.spawnSync(["bash", "-c", fill(100)]);
    for (const kind of ["pause", "snapshot"] as const) {
      expect((await failsForLackOfRoom(kind)).message).toContain("storage pool has room for");
    }
    empty();
    await isPausedAndResumed();
  });

  test.each([64, 0])("a pause or snapshot with no more than %i MiB left while CRIU writes fails, and keeps nothing", async (leftMib) => {
    await withCriu(machine, `${fill(leftMib)}\nreal "$@"`, async () => {
      for (const kind of ["pause", "snapshot"] as const) {
        empty();
        await isThereRoom();
        await failsForLackOfRoom(kind);
      }
    });
    empty();
    await isPausedAndResumed();
  });
});

describe("of the disk below the pool", () => {
  let small: SmallDisk;
  const disk = () => small.path;
  const run = (...argv: string[]) => {
    const { exitCode, stderr } = Bun.spawnSync(argv);
    if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
  };
  beforeAll(async () => {
    small = makeSmallDisk(DISK_MIB);
    // Nothing is allocated ahead: the pool may still take exactly what is free on the disk.
    machine = await TestMachine.make(undefined, disk(), { aheadBytes: 0 });
  }, 600_000);
  afterAll(async () => {
    await tryAll([() => rmSync(join(disk(), "ballast"), { force: true }), () => machine?.dispose(), () => small.remove()]);
  }, 120_000);

  test("a pause or snapshot that would fill the disk is refused, and the pool still takes writes", async () => {
    await boot();
    const { diskFreeBytes } = await machine.driver.capacity();
    run("fallocate", "-l", String(diskFreeBytes - 100 * MIB), join(disk(), "ballast"));
    for (const kind of ["pause", "snapshot"] as const) await failsForLackOfRoom(kind);
    expect(isPoolReadOnly(machine.dataDir)).toBe(false);
    rmSync(join(disk(), "ballast"));
    await isPausedAndResumed();
    await machine.destroyAll();
  });

  test("of several pauses at once, those are admitted that fit together; a refused one succeeds when those have ended", async () => {
    const { driver } = machine;
    const handles: SandboxHandle[] = [];
    for (let n = 0; n < 3; n++) handles.push(await bootHolding(machine.spec({ memoryBytes: 512 * MIB })));
    const needed = await Promise.all(handles.map(async (one) => (await driver.stats(one)).memoryUsedBytes));
    const room = needed.reduce((sum, one) => sum + one, -Math.min(...needed) / 2);
    const { diskFreeBytes } = await driver.capacity();
    run("fallocate", "-l", String(Math.floor(diskFreeBytes - room)), join(disk(), "ballast"));
    // Nothing is written before all have asked.
    const gate = join(machine.dataDir, "run/gate");
    writeFileSync(gate, "");
    const ends: unknown[] = [];
    await withCriu(machine, `while [ -e '${gate}' ]; do sleep 0.01; done\nreal "$@"`, async () => {
      const asks = handles.map((one) =>
        machine.driver.pause(one, { memory: true }, never).then(
          () => ends.push("paused"),
          (error: unknown) => ends.push(error),
        ),
      );
      try {
        await eventually("one is refused", () => ends.length === 1);
      } finally {
        rmSync(gate);
        await Promise.all(asks);
      }
    });
    expect(isAppError(ends[0], "resource_exhausted")).toBe(true);
    expect(String(ends[0])).toMatch(
      /takes up to \d+ MiB, and the storage pool has room for \d+ MiB besides \d+ MiB that others are writing now/,
    );
    expect(ends.slice(1)).toEqual(["paused", "paused"]);
    const phases = await Promise.all(handles.map(async (one) => (await machine.driver.inspect(one)).phase));
    expect(phases.toSorted()).toEqual(["paused", "paused", "running"]);
    rmSync(join(disk(), "ballast"));
    await isThereRoom();
    handle = handles[phases.indexOf("running")] as SandboxHandle;
    await goesOn();
    await machine.driver.pause(handle, { memory: true }, never);
    expect((await machine.driver.inspect(handle)).phase).toBe("paused");
    await machine.destroyAll();
  });
});
