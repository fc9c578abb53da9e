import { AppError } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { TakenAttempts } from "../network/attempts.ts";
import { type EgressPolicy, isEnforceable } from "../network/egress-policy.ts";
import type { NetworkCapabilities, NetworkDriver } from "../network/network.ts";
import { absent, type FakeSandboxes } from "./sandboxes.ts";
import type { FakeWorld } from "./world.ts";

/** Keeps the egress policy of sandboxes for tests; enforces nothing. */
export class FakeNetwork implements NetworkDriver {
  readonly capabilities: NetworkCapabilities;
  private readonly world: FakeWorld;
  private readonly sandboxes: FakeSandboxes;

  constructor(world: FakeWorld, sandboxes: FakeSandboxes) {
    this.world = world;
    this.sandboxes = sandboxes;
    this.capabilities = { network: !world.lacks.has("network"), loopback: false };
  }

  async connectInside(): Promise<number | undefined> {
    throw absent("way to loopback addresses");
  }

  takeAttempts(): TakenAttempts {
    const stopped = new Map(this.world.stoppedRecordings);
    this.world.stoppedRecordings.clear();
    return { attempts: this.world.attempts.splice(0), dropped: new Map(), ...(stopped.size > 0 && { stopped }) };
  }

  setNetwork(handle: SandboxHandle, network: EgressPolicy): Promise<void> {
    return this.world.faults.around("setNetwork", undefined, async () => {
      if (!this.capabilities.network) throw absent("change of a network");
      if (!isEnforceable(network)) throw new AppError("invalid_argument", "Bad network", { reason: "invalid_spec" });
      this.sandboxes.alive(handle).network = network;
    });
  }
}
