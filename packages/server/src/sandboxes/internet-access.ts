import type { SandboxId, TeamId } from "@boxyard/core";
import type { Lifecycle } from "./lifecycle.ts";
import { sandboxNotFound } from "./problems.ts";

/**
 * Opens or closes a running sandbox's way out, at once. The store is written first: should this server die here, the next one enforces what is
 * written when it takes the sandbox back.
 */
export async function setInternetAccess(lifecycle: Lifecycle, teamId: TeamId, id: SandboxId, internetAccess: boolean): Promise<void> {
  await lifecycle.whileRunning(teamId, id, async (live) => {
    const { store, driver } = lifecycle.deps;
    const before = live.record.facts;
    const facts = { ...before, internetAccess };
    if (!(await store.updateSandbox(id, ["running"], { facts }))) throw sandboxNotFound(id);
    try {
      await driver.setNetwork(live.handle, { internetAccess });
    } catch (error) {
      await store.updateSandbox(id, ["running"], { facts: before });
      throw error;
    }
    live.change({ facts });
  });
}
