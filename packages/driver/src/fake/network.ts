import { AppError } from "@boxyard/core";
import type { NetworkDriver } from "../network/network.ts";
import type { NetworkSpec } from "../network/network-spec.ts";
import type { SandboxHandle } from "../runtime/types.ts";
import type { FakeSandboxes } from "./sandboxes.ts";
import type { FakeWorld } from "./world.ts";

const absent = (verb: string) => new AppError("unimplemented", `The fake driver has no ${verb}`, { reason: "unimplemented" });

/** Keeps what a sandbox may do, for tests to look at; nothing is enforced. */
export class FakeNetwork implements NetworkDriver {
  readonly capabilities = { network: true, loopback: false };
  private readonly world: FakeWorld;
  private readonly sandboxes: FakeSandboxes;

  constructor(world: FakeWorld, sandboxes: FakeSandboxes) {
    this.world = world;
    this.sandboxes = sandboxes;
  }

  async connectInside(): Promise<number | undefined> {
    throw absent("way to loopback addresses");
  }

  setNetwork(handle: SandboxHandle, network: NetworkSpec): Promise<void> {
    return this.world.faults.around("setNetwork", undefined, async () => {
      this.sandboxes.alive(handle).network = network;
    });
  }
}
