import { newSandboxId } from "@boxyard/core";
import type { CheckpointAbility } from "../checkpoint/generation.ts";
import { type ContractSubject, driverContract } from "../contract-suite.ts";
import { FakeDriver } from "./fake-driver.ts";
import { FakeWorld, type Lackable } from "./world.ts";

for (const checkpoint of ["memory", "disk"] as const) driverContract(`fake, keeps ${checkpoint}`, () => makeSubject(checkpoint));
driverContract("fake that says no", () => makeSubject("none", ["freeze", "network", "snapshots"]));

async function makeSubject(checkpoint: CheckpointAbility, lacks: readonly Lackable[] = []): Promise<ContractSubject> {
  const world = new FakeWorld();
  world.checkpoint = checkpoint;
  for (const name of lacks) world.lacks.add(name);
  let driver = new FakeDriver(world);
  const digest = `sha256:${"a".repeat(64)}`;
  world.images.add(digest);
  const spec = () => ({
    sandboxId: newSandboxId(),
    incarnation: 1,
    image: { digest, layers: [digest] },
    hostname: "fake",
    resources: { cpuCount: 1, memoryBytes: 256 << 20, diskBytes: 1 << 30, maxProcesses: 64 },
    network: { internetAccess: true },
    agent: { initKey: "0123456789abcdef" },
    labels: {},
  });
  return {
    get driver() {
      return driver;
    },
    spec,
    reopen: async () => {
      await driver.close();
      driver = new FakeDriver(world);
    },
    endAgent: (handle) => world.stop(handle.sandboxId, { reason: "agent_exited" }),
    leaveHalfMade: async () => {
      const sandbox = world.make(spec(), driver.name);
      sandbox.halfMade = true;
      return sandbox.handle;
    },
    breakStarts: () => world.faults.add("start", { kind: "hang" }),
    mend: () => world.faults.clear(),
    dispose: () => world.clear(),
  };
}
