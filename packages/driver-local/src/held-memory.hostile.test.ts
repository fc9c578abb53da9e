import { expect, setDefaultTimeout, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "./cgroup/hierarchies.ts";
import { countKernelBytes, memoryNow, sparedBytes } from "./guard/machine-memory.ts";
import { EMULATED } from "./testing/config.ts";
import { exec, initAgent, startUnread } from "./testing/exec.ts";
import { holding, KINDS, type Kind } from "./testing/held-memory.ts";
import { useTestMachine } from "./testing/use-test-machine.ts";

/** In the emulated machine, with pure cgroup v2, the two that held most before they had a bound. */
const kinds: readonly Kind[] = EMULATED ? ["ppoll", "control"] : KINDS;
setDefaultTimeout(120_000);
const MIB = 1 << 20;
const MEMORY_BYTES = 512 * MIB;
/** What the server gives a sandbox of that size. */
const PROCESSES = 436;
/** Kernel memory that other programs of the machine take or give back meanwhile. */
const OTHERS_BYTES = 32 * MIB;
const machine = useTestMachine();
const countedBytes = countKernelBytes(findHierarchies());

/** Memory of the kernel's that is on no account. */
function uncountedBytes(): number {
  const memory = memoryNow();
  return memory.kernelBytes - countedBytes(memory) - sparedBytes();
}

test.each(kinds)("threads that wait in %s hold no more beside the account than an eighth of the sandbox's memory", async (kind) => {
  const handle = await machine.boot(machine.spec({ memoryBytes: MEMORY_BYTES, maxProcesses: PROCESSES }));
  const address = await machine.driver.address(handle);
  await initAgent(address);
  await exec(address, `cat > /tmp/hold.py <<'END'\n${holding(kind)}\nEND`);
  const before = uncountedBytes();
  await startUnread(address, "exec python3 /tmp/hold.py > /tmp/held 2>&1");
  // Read from outside: the sandbox has no process left for a command.
  const file = join(machine.dataDir, "pool/sandboxes", handle.sandboxId, "upper/tmp/held");
  const held = () => (existsSync(file) ? readFileSync(file, "utf8") : "");
  await eventually("the threads wait", () => held() !== "", { withinMs: 90_000 });
  expect(held()).toMatch(/^holds \d{3}\n$/);
  // Others take and give back; what is held stays.
  const taken = Math.min(...Array.from({ length: 5 }, () => uncountedBytes())) - before;
  await machine.driver.destroy(handle);
  expect(Math.round(taken / MIB)).toBeLessThanOrEqual((MEMORY_BYTES / 8 + OTHERS_BYTES) / MIB);
});
