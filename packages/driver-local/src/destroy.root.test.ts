import { expect, test } from "bun:test";
import { initAgent, startUnread } from "./testing/exec.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

const machine = useTestMachine();

test("a destroy takes no longer while a client does not read what the sandbox sends", async () => {
  const handle = await machine.boot();
  const address = await machine.driver.address(handle);
  await initAgent(address);
  const stream = await startUnread(address, "yes");
  // Time alone: nothing shows when all buffers between sandbox and client are full.
  await Bun.sleep(300);
  const plain = await machine.boot();
  const msOf = async (work: Promise<void>) => {
    const startedAt = performance.now();
    await work;
    return performance.now() - startedAt;
  };
  const plainMs = await msOf(machine.driver.destroy(plain));
  // Without the driver's help the kernel keeps such a connection, and the namespace with it, for minutes. A busy machine takes seconds.
  expect(await msOf(machine.driver.destroy(handle))).toBeLessThan(Math.max(30 * plainMs, 20_000));
  await stream.cancel();
}, 60_000);
