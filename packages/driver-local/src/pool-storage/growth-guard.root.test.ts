import { afterEach, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, statfsSync } from "node:fs";
import { join } from "node:path";
import type { AgentAddress, SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { exec, initAgent } from "../testing/exec.ts";
import { never } from "../testing/machine.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";

/*
 * A pool of 8 GiB, and sandboxes that may each write 7 GiB: what one takes must leave room for the others and for the file system itself.
 */

setDefaultTimeout(120_000);
const MIB = 2 ** 20;
const LIMIT = 7 * 1024 * MIB;

const machine = useTestMachine();
afterEach(() => machine.destroyAll());

async function boot(): Promise<{ handle: SandboxHandle; address: AgentAddress }> {
  const handle = await machine.boot(machine.spec({ diskBytes: LIMIT }));
  const address = await machine.driver.address(handle);
  await initAgent(address);
  return { handle, address };
}

/** Bytes that are free in the pool. */
function freeInPool(): number {
  const { bavail, bsize } = statfsSync(join(machine.dataDir, "pool"));
  return bavail * bsize;
}

const TAKE =
  "i=0; while fallocate -l 50M /srv/taken-$i; do i=$((i+1)); done; while fallocate -l 4M /srv/more-$i; do i=$((i+1)); done; true";

/** Allocates all the space that the guard permits, without writing a byte; returns the output of the last attempts. */
async function takeAll(...takers: readonly { readonly address: AgentAddress }[]): Promise<string> {
  let said = "";
  await eventually(
    "no more space is given",
    async () => {
      said = (await Promise.all(takers.map(({ address }) => exec(address, TAKE, { timeoutMs: 50_000 }))))
        .map(({ output }) => output)
        .join("");
      return (await machine.driver.capacity()).diskFreeBytes < PAUSED_BELOW;
    },
    { withinMs: 50_000 },
  );
  return said;
}

/** An eighth of the reserve of 512 MiB. */
const PAUSED_BELOW = 64 * MIB;
const WRITE = (mib: number) => `dd if=/dev/zero of=/srv/written bs=1M count=${mib} conv=fsync status=none && echo written`;

test("sandboxes that take all the space they can leave the pool its reserve, and a neighbour can still write", async () => {
  const [neighbour, ...greedy] = [await boot(), await boot(), await boot(), await boot()];
  expect(await takeAll(...greedy)).toContain("Disk quota exceeded");
  expect(freeInPool()).toBeGreaterThan(128 * MIB);
  expect((await exec(neighbour.address, WRITE(10))).output).toBe("written\n");
  expect((await exec((greedy[0] as typeof neighbour).address, "echo still works; rm /srv/taken-0 && echo removed")).output).toBe(
    "still works\nremoved\n",
  );
});

test("growth goes on by itself when there is room again", async () => {
  const [greedy, other] = [await boot(), await boot()];
  await takeAll(greedy, other);
  expect((await exec(other.address, WRITE(600))).output).not.toBe("written\n");
  await machine.driver.destroy(greedy.handle);
  await eventually("the other grows again", async () => (await exec(other.address, WRITE(600))).output === "written\n", {
    withinMs: 50_000,
    everyMs: 500,
  });
});

test("a new sandbox gets no more than its share, and all of its limit when there is room", async () => {
  const greedy = await boot();
  await takeAll(greedy);
  const { address } = await boot();
  expect((await exec(address, "fallocate -l 2G /srv/big")).exitCode).not.toBe(0);
  await machine.driver.destroy(greedy.handle);
  await eventually("there is room", async () => (await exec(address, "fallocate -l 2G /srv/big")).exitCode === 0, {
    withinMs: 50_000,
    everyMs: 500,
  });
});

test("a layer that would fill the pool fails while it is made, and leaves nothing", async () => {
  const greedy = await boot();
  await takeAll(greedy);
  const tar = Bun.spawn(["sh", "-c", "truncate -s 900M big && tar c big && rm big"], { cwd: machine.dataDir, stdout: "pipe" });
  const importing = machine.driver.images.importLayer(tar.stdout, { signal: never });
  expect(await importing.catch((error: unknown) => error)).toMatchObject({ code: "resource_exhausted", reason: "disk_full" });
  expect(readdirSync(join(machine.dataDir, "pool/making"))).toEqual([]);
  expect((await exec(greedy.address, "echo still works")).output).toBe("still works\n");
});
