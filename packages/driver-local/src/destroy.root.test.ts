import { afterAll, beforeAll, expect, test } from "bun:test";
import { SLOWNESS } from "./testing/config.ts";
import { initAgent, startUnread } from "./testing/exec.ts";
import { TestMachine } from "./testing/machine.ts";

let machine: TestMachine;
beforeAll(async () => {
  machine = await TestMachine.make();
}, 600_000);
afterAll(() => machine?.dispose(), 60_000);

test("a sandbox ends quickly, though a receiver does not read what it sends", async () => {
  const handle = await machine.boot();
  const address = await machine.driver.address(handle);
  await initAgent(address);
  const stream = await startUnread(address, "yes");
  // Until no buffer on the way takes more.
  // Time alone: nothing tells that the buffers on the way are full.
  await Bun.sleep(300);
  const startedAt = performance.now();
  await machine.driver.destroy(handle);
  // The kernel keeps such a connection, and the namespace with it, for minutes.
  expect(performance.now() - startedAt).toBeLessThan(2_000 * SLOWNESS);
  await stream.cancel();
}, 60_000);
