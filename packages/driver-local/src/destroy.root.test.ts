import { expect, test } from "bun:test";
import { SLOWNESS } from "./testing/config.ts";
import { initAgent, startUnread } from "./testing/exec.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

const machine = useTestMachine();

test("a destroy is quick while a client does not read what the sandbox sends", async () => {
  const handle = await machine.boot();
  const address = await machine.driver.address(handle);
  await initAgent(address);
  const stream = await startUnread(address, "yes");
  // Time alone: nothing shows when all buffers between sandbox and client are full.
  await Bun.sleep(300);
  const startedAt = performance.now();
  await machine.driver.destroy(handle);
  // Without the driver's help the kernel keeps such a connection, and the namespace with it, for minutes.
  expect(performance.now() - startedAt).toBeLessThan(2_000 * SLOWNESS);
  await stream.cancel();
}, 60_000);
