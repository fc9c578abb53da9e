import { VERSION } from "@boxyard/core";
import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";

/** The driver's label of sandboxes that nobody has yet: the version of the server that made it. Nothing of a user is in one that has it. */
export const OF_POOL = "pool";

/** True for a sandbox that a pool has made and no user has got. */
export async function isOfPool(driver: Pick<SandboxDriver, "keptSpec">, handle: SandboxHandle): Promise<boolean> {
  return (await labelOf(driver, handle)) !== undefined;
}

/** The same, made by a server of this version: what is in it is what this server would put there. */
export async function isOfOwnPool(driver: Pick<SandboxDriver, "keptSpec">, handle: SandboxHandle): Promise<boolean> {
  return (await labelOf(driver, handle)) === VERSION;
}

function labelOf(driver: Pick<SandboxDriver, "keptSpec">, handle: SandboxHandle): Promise<string | undefined> {
  return driver.keptSpec(handle).then(
    ({ labels }) => labels[OF_POOL],
    () => undefined,
  );
}
