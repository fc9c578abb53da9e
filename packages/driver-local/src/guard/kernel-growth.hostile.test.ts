import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type SandboxId, SerialQueues, systemClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import type { SandboxHandle } from "@boxyard/driver";
import { eventually } from "@boxyard/testkit";
import { findHierarchies } from "../cgroup/hierarchies.ts";
import { InstanceCgroups } from "../cgroup/instance.ts";
import { cgroupOf } from "../sandbox/parts.ts";
import { runningSandboxes } from "../sandbox/running.ts";
import { DataPaths } from "../state/paths.ts";
import { initAgent, startUnread } from "../testing/exec.ts";
import { useTestMachine } from "../testing/use-test-machine.ts";
import { MemoryGuard } from "./guard.ts";

setDefaultTimeout(60_000);
const MIB = 1 << 20;
const machine = useTestMachine();

/** A thread each 20 ms, which stand for memory of the kernel's. */
const GREEDY = `
import threading, time
threading.stack_size(65536)
for _ in range(1500):
    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
    time.sleep(0.02)
`;

async function start(command: string): Promise<SandboxHandle> {
  const handle = await machine.boot(machine.spec({ maxProcesses: 2_000 }));
  const address = await machine.driver.address(handle);
  await initAgent(address);
  await startUnread(address, command);
  return handle;
}

test("the sandbox with which the growth of kernel memory stops is ended with that reason; a busier one runs on", async () => {
  const busy = await start("while :; do cat /proc/self/status > /dev/null; done");
  const greedy = await start(`exec python3 -c '${GREEDY}'`);
  const { instance } = JSON.parse(readFileSync(join(machine.dataDir, "instance.json"), "utf8")) as { instance: string };
  const cgroups = new InstanceCgroups(findHierarchies(), instance);
  const parts = { paths: new DataPaths(machine.dataDir), cgroups, clock: systemClock, turns: new SerialQueues<SandboxId>() };
  const cgroup = cgroupOf(parts, greedy.sandboxId);
  const threads = () => Number(readFileSync(join(cgroup.v1Directory("pids") ?? cgroup.top, "pids.current"), "utf8"));
  let kernelBytes = 0;
  const memory = () => ({ totalBytes: 8192 * MIB, availableBytes: 1, kernelBytes, reclaimableBytes: 0 });
  const kernel = { countedBytes: () => 0, sparedBytes: () => 0, reserveBytes: 64 * MIB, sleep: (ms: number) => systemClock.sleep(ms) };
  const measured = () => {
    kernelBytes = threads() * 16 * MIB;
    return memory();
  };
  const guard = new MemoryGuard({ running: () => runningSandboxes(parts), logger: silentLogger, memory: measured, kernel });
  const ended = machine.driver.wait(greedy, AbortSignal.timeout(40_000));
  try {
    await eventually("the greedy one is ended", async () => {
      guard.look();
      await guard.settled();
      return !cgroup.isPopulated();
    });
  } finally {
    guard.close();
  }
  expect(await ended).toEqual({ reason: "uncounted_memory" });
  const neighbour = cgroupOf(parts, busy.sandboxId);
  expect([(await machine.driver.inspect(busy)).phase, neighbour.isFreezeRequested()]).toEqual(["running", false]);
  await machine.destroyAll();
});
