import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";

/** The driver's label of sandboxes that nobody has yet. Nothing of a user is in one that has it. */
export const OF_POOL = "pool";

/** True for a sandbox that a pool has made and no user has got. */
export function isOfPool(driver: Pick<SandboxDriver, "keptSpec">, handle: SandboxHandle): Promise<boolean> {
  return driver.keptSpec(handle).then(
    ({ labels }) => labels[OF_POOL] !== undefined,
    () => false,
  );
}
