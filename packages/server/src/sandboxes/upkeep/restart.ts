import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import type { Events } from "../../events.ts";
import type { EndCause, SandboxRecord, Store } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";

export interface Adoption {
  readonly adopted: number;
  /** Sandboxes being removed: half-made, ended meanwhile, or without a record. Resolves when the removal of each was tried. */
  readonly removals: Promise<void>;
  readonly removed: number;
}

export interface RestartParts {
  readonly engine: Engine;
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly events: Events;
}

interface Leftover {
  readonly sandbox: Sandbox;
  readonly cause: EndCause;
}

const AT_ONCE = 16;

/**
 * Adopts what an earlier server has left: every record gets the answer of `transitions/adopt.ts`, and what the driver has without a record is
 * removed. Returns as soon as the sandboxes that run are reachable.
 */
export async function adoptAll(parts: RestartParts): Promise<Adoption> {
  const { engine, store, driver } = parts;
  const [records, handles] = await Promise.all([store.listLiving(), driver.list()]);
  const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
  const leftovers: Leftover[] = [];
  let adopted = 0;
  await inBatches(records, async (record) => {
    const cause = await adoptOne(parts, record, () => engine.adopt(record, byId.get(record.id)));
    byId.delete(record.id);
    const sandbox = engine.sandboxes.find(record.id);
    if (cause === "adopted") adopted += 1;
    else if (cause !== "later" && sandbox) leftovers.push({ sandbox, cause });
  });
  const orphans = [...byId.values()];
  return { adopted, removed: leftovers.length + orphans.length, removals: removeAll(parts, leftovers, orphans) };
}

/** Asks again for a sandbox of which the driver could not say anything at the start. */
export async function adoptLate(parts: RestartParts, sandbox: Sandbox, handle: SandboxHandle | undefined): Promise<void> {
  const cause = await adoptOne(parts, sandbox.record, () => parts.engine.adopt(sandbox.record, handle));
  if (cause !== "adopted" && cause !== "later") await parts.engine.end(sandbox, cause).catch(() => {});
}

/** `adopted` if the sandbox goes on, `later` if nothing is to be done now, else why it is to be removed. */
async function adoptOne(
  { events }: RestartParts,
  record: SandboxRecord,
  ask: () => ReturnType<Engine["adopt"]>,
): Promise<EndCause | "adopted" | "later"> {
  const answer = await ask();
  if (answer.next === "running" || answer.next === "paused") {
    events.adopted(record, answer.next);
    return "adopted";
  }
  if (answer.next !== "remove") return "later";
  events.notAdopted(record.id, answer.cause);
  return answer.cause;
}

async function removeAll({ engine, driver, events }: RestartParts, leftovers: Leftover[], orphans: SandboxHandle[]): Promise<void> {
  await inBatches(leftovers, async ({ sandbox, cause }) => {
    // The sweep tries again what fails here.
    if (sandbox.state === "killing") await engine.retryRemoval(sandbox).catch(() => {});
    else await engine.end(sandbox, cause).catch(() => {});
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
