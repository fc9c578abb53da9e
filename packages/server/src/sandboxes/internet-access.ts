import type { SandboxId, TeamId } from "@boxyard/core";
import type { SandboxFacts } from "../store/index.ts";
import type { Lifecycle } from "./lifecycle.ts";
import { sandboxNotFound } from "./problems.ts";

/** All that is set of what may leave a sandbox. */
export type EgressChange = Pick<SandboxFacts, "internetAccess" | "egress">;

/**
 * Opens or closes a running sandbox's way out, at once. The store is written first: should this server die here, the next one enforces what is
 * written when it takes the sandbox back.
 */
export async function setInternetAccess(lifecycle: Lifecycle, teamId: TeamId, id: SandboxId, to: EgressChange): Promise<void> {
  await lifecycle.whileRunning(teamId, id, async (live) => {
    const { store, driver } = lifecycle.deps;
    const before = live.record.facts;
    const { egress: _replaced, ...others } = before;
    const facts = { ...others, ...to };
    if (!(await store.updateSandbox(id, ["running"], { facts }))) throw sandboxNotFound(id);
    try {
      await driver.setNetwork(live.handle, { internetAccess: to.internetAccess });
    } catch (error) {
      await store.updateSandbox(id, ["running"], { facts: before });
      throw error;
    }
    live.change({ facts });
  });
}
