import { isAppError } from "@boxyard/core";
import type { SandboxHandle } from "@boxyard/driver";
import type { EndCause, SandboxRecord } from "../store/index.ts";
import type { Lifecycle } from "./lifecycle.ts";
import type { LiveSandbox } from "./live.ts";

export interface Adoption {
  readonly adopted: number;
  /** Sandboxes being removed: half-made, ended meanwhile, or without a record. Resolves when all of them were tried. */
  readonly removals: Promise<void>;
  readonly removed: number;
}

const AT_ONCE = 16;

/**
 * Takes back what an earlier server has left. Store and driver are compared: a sandbox that both call running goes on, everything else is
 * removed, and the log says which. Returns as soon as the running ones are reachable.
 */
export async function adopt(lifecycle: Lifecycle): Promise<Adoption> {
  const { store, driver, events } = lifecycle.deps;
  const [records, handles] = await Promise.all([store.listLiving(), driver.list()]);
  const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
  const leftovers: { live: LiveSandbox; cause: EndCause }[] = [];
  let adopted = 0;
  await inBatches(records, async (record) => {
    const cause = await takeBack(lifecycle, record, byId.get(record.id));
    byId.delete(record.id);
    if (cause === "adopted") adopted += 1;
    else if (cause === "later") lifecycle.adopt(record, undefined);
    else {
      events.notAdopted(record.id, cause);
      leftovers.push({ live: lifecycle.adopt(record, undefined), cause });
    }
  });
  const orphans = [...byId.values()];
  const removals = removeAll(lifecycle, leftovers, orphans);
  return { adopted, removed: leftovers.length + orphans.length, removals };
}

/**
 * `adopted` if the sandbox goes on, `later` if the driver cannot say just now (the sweep asks again: a sandbox is not ended for a driver's
 * bad moment), else why it does not go on.
 */
export async function takeBack(
  lifecycle: Lifecycle,
  record: SandboxRecord,
  handle: SandboxHandle | undefined,
): Promise<EndCause | "adopted" | "later"> {
  const { driver, events } = lifecycle.deps;
  if (record.state === "killing" || record.state === "failed") return record.reason ?? "unknown";
  if (record.state === "creating") return "half_made";
  if (!handle || handle.incarnation !== record.incarnation) return "lost";
  try {
    const status = await driver.recover(handle);
    if (status.phase === "stopped") return status.exit?.reason ?? "unknown";
    if (status.phase !== "running") return "half_made";
    // Only a server that died in the midst of a change leaves another state than the record's.
    if (driver.capabilities.network) await driver.setNetwork(handle, { internetAccess: record.facts.internetAccess });
    lifecycle.adopt(record, await driver.address(handle));
    events.adopted(record.id);
    return "adopted";
  } catch (error) {
    if (isAppError(error, "not_found")) return "lost";
    events.watchFailed(record.id, error);
    return "later";
  }
}

async function removeAll(
  lifecycle: Lifecycle,
  leftovers: { live: LiveSandbox; cause: EndCause }[],
  orphans: SandboxHandle[],
): Promise<void> {
  const { driver, events } = lifecycle.deps;
  await inBatches(leftovers, async ({ live, cause }) => {
    // What fails here is tried again by the sweep.
    if (live.state === "killing") await lifecycle.retryRemoval(live).catch(() => {});
    else await lifecycle.end(live, cause).catch(() => {});
  });
  await inBatches(orphans, async (handle) => {
    try {
      await driver.destroy(handle);
      events.orphanRemoved(handle.sandboxId);
    } catch (error) {
      events.removalFailed(handle.sandboxId, error);
    }
  });
}

async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  let next = 0;
  const worker = async () => {
    while (next < items.length) await work(items[next++] as T);
  };
  await Promise.all(Array.from({ length: Math.min(AT_ONCE, items.length) }, worker));
}
