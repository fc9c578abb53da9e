import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { rmSync, statfsSync } from "node:fs";
import { join } from "node:path";
import { isAppError } from "@boxyard/core";
import type { SandboxHandle, SandboxSpec } from "@boxyard/driver";
import { eventually, makeSmallDisk, type SmallDisk, tryAll } from "@boxyard/testkit";
import { isPoolMounted, isPoolReadOnly } from "../pool-storage/mount.ts";
import { countInto, lastCount } from "../testing/counting.ts";
import { exec, initAgent, startUnread } from "../testing/exec.ts";
import { never, TestMachine } from "../testing/machine.ts";
import { withCriu } from "../testing/other-criu.ts";

/* During a dump, other programs fill the disk below a pool that has allocated nothing ahead: the pool's file system then takes no writes. */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const DISK_MIB = 3072;
/** Bytes of the memory's image that are written before the disk is filled. */
const WRITTEN = 16 * MIB;
/** A random MiB, repeated: what compresses the pages looks back much less far. */
const HOLD = "import os, time; m = os.urandom(1 << 20) * 200; open('/root/held', 'w').write('x'); time.sleep(1e6)";
const COUNT = "/dev/shm/count";

let small: SmallDisk;
let machine: TestMachine;
const ballast = () => join(small.path, "ballast");
const more = () => join(machine.dataDir, "pool/more");
const makeRoom = () => rmSync(ballast(), { recursive: true, force: true });

beforeAll(async () => {
  small = makeSmallDisk(DISK_MIB);
  machine = await TestMachine.make(undefined, small.path, { aheadBytes: 0 });
}, 600_000);
afterAll(async () => {
  await tryAll([makeRoom, () => machine?.dispose(), () => small.remove()]);
}, 120_000);

async function boot(spec: SandboxSpec): Promise<SandboxHandle> {
  const handle = await machine.boot(spec);
  const address = await machine.driver.address(handle);
  await initAgent(address);
  await startUnread(address, `exec python3 -c "${HOLD}"`);
  await startUnread(address, countInto(COUNT));
  await eventually("it holds much", async () => (await exec(address, "cat /root/held")).output === "x");
  return handle;
}

const count = async (handle: SandboxHandle) => Number((await exec(await machine.driver.address(handle), lastCount(COUNT))).output);

async function goesOn(handle: SandboxHandle): Promise<void> {
  await initAgent(await machine.driver.address(handle));
  const seen = await count(handle);
  await eventually("it counts on", async () => (await count(handle)) > seen);
}

const pause = (handle: SandboxHandle) => machine.driver.pause(handle, { memory: true }, never);
const resume = (spec: SandboxSpec) => machine.driver.resume({ ...spec, incarnation: 2 }, { memory: true }, never);

/** A CRIU that is stopped during its work until the disk is full and the pool has failed a write. */
const withFiller = () => `
images=$(echo "$*" | sed 's/.*--images-dir \\([^ ]*\\).*/\\1/')
real "$@" & criu=$!
while kill -0 $criu; do
  for file in "$images"/pages-*.img; do [ "$(stat -c %s "$file" 2> /dev/null || echo 0)" -ge ${WRITTEN} ] && break 2; done
done
kill -STOP $criu
mkdir ${ballast()}; n=0
for size in 1024M 256M 64M 16M 4M 1M 256K 64K 16K 4K; do
  while fallocate -l $size ${ballast()}/$((n += 1)) 2> /dev/null; do :; done; rm -f ${ballast()}/$n
done
while touch ${more()} 2> /dev/null; do
  dd if=/dev/urandom of=${more()} bs=1M count=8 oflag=append conv=notrunc 2> /dev/null; sync -f ${more()} 2> /dev/null
done
kill -CONT $criu; wait $criu`;

test("a pause during which the host's disk is filled keeps nothing; no other data is lost, and all works again once there is room", async () => {
  const earlier = machine.spec({ memoryBytes: 512 * MIB });
  await pause(await boot(earlier));
  const spec = machine.spec({ memoryBytes: 512 * MIB });
  const handle = await boot(spec);
  await withCriu(machine, withFiller(), async () => {
    const error = await pause(handle).catch((thrown: unknown) => thrown);
    const { bavail, bsize } = statfsSync(small.path);
    // A few blocks may become free meanwhile, which are not enough.
    expect([isAppError(error), bavail * bsize < MIB, isPoolReadOnly(machine.dataDir)]).toEqual([true, true, true]);
    await goesOn(handle);
  });
  // The sandbox runs on, and the next pause is refused with the reason.
  await goesOn(handle);
  expect((await machine.driver.inspect(handle)).phase).toBe("running");
  expect(isAppError(await pause(handle).catch((thrown: unknown) => thrown), "resource_exhausted")).toBe(true);
  await goesOn(handle);
  makeRoom();
  // The sandbox keeps the file system in use, which takes writes again only after its end.
  await eventually("it is removed", () => machine.driver.destroy(handle).then(() => true), { withinMs: 30_000 });
  await eventually("the pool is mounted anew", () => isPoolMounted(machine.dataDir) && !isPoolReadOnly(machine.dataDir), {
    withinMs: 30_000,
  });
  expect(await machine.driver.generation(spec.sandboxId)).toBeUndefined();
  rmSync(more(), { force: true });
  await goesOn(await resume(earlier));
  const next = machine.spec({ memoryBytes: 512 * MIB });
  await pause(await boot(next));
  await goesOn(await resume(next));
});
