import { atOnce } from "@boxyard/core";
import type { EventLog } from "../../event-log.ts";
import { isOfPool } from "../../pool-label.ts";
import type { EndCause, SandboxRecord, Store } from "../../store/index.ts";
import type { OrphanPolicy } from "../../store-identity.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import type { PlacedHandle, Placement } from "../placement.ts";
import { type AdoptionParts, handOver, recordOfOrphan, UNKNOWN_OF_ORPHAN } from "./adopt-orphan.ts";
import type { Held, Quarantine } from "./quarantine.ts";

export interface Adoption {
  /** Those of the pool are not counted. */
  readonly adopted: number;
  /** Resolves when the removal of each of the `removed` was tried once. */
  readonly removals: Promise<void>;
  /** Sandboxes that are removed: half made, ended meanwhile, or orphans that the policy removes. */
  readonly removed: number;
  /** Sandboxes in quarantine. */
  readonly quarantined: number;
}

export interface RestartParts {
  readonly engine: Engine;
  readonly store: Store;
  readonly placement: Placement;
  readonly events: EventLog;
  readonly quarantine: Quarantine;
}

interface Leftover {
  readonly sandbox: Sandbox;
  readonly cause: EndCause;
}

const AT_ONCE = 16;

/**
 * Adopts the sandboxes of an earlier server: `upkeep/adopt.ts` has the answer for each record, and the policy says what happens to sandboxes
 * of the driver without a record. Resolves as soon as the sandboxes that run are reachable.
 */
export async function adoptAll(parts: RestartParts, policy: OrphanPolicy, adoption: AdoptionParts): Promise<Adoption> {
  const { engine, store, placement } = parts;
  const [records, handles] = await Promise.all([store.listLiving(), placement.list()]);
  const byId = new Map(handles.map((handle) => [handle.sandboxId as string, handle]));
  const leftovers: Leftover[] = [];
  const damaged: Held[] = [];
  let adopted = 0;
  const adopt = async (record: SandboxRecord) => {
    const handle = byId.get(record.id);
    const cause = await adoptOne(parts, record, () => engine.adopt(record, handle));
    byId.delete(record.id);
    if (cause === "damaged" && handle) damaged.push({ handle, cause });
    const sandbox = engine.sandboxes.find(record.id);
    if (cause === "adopted") adopted += record.owner.kind === "pool" ? 0 : 1;
    else if (cause !== "later" && cause !== "damaged" && sandbox) leftovers.push({ sandbox, cause });
  };
  await atOnce(records, AT_ONCE, adopt);
  if (policy === "adopt") await atOnce([...byId.values()], AT_ONCE, (handle) => adoptOrphan(parts, adoption, handle, adopt));
  const { gone, kept } = await sortOrphans(parts, policy, [...byId.values()]);
  const held = [...damaged, ...kept.map((handle): Held => ({ handle, cause: "unknown" }))];
  await parts.quarantine.hold(held);
  const removed = leftovers.length + gone.length;
  return { adopted, removed, quarantined: held.length, removals: removeAll(parts, leftovers, gone) };
}

async function adoptOrphan(
  { store, events }: RestartParts,
  adoption: AdoptionParts,
  handle: PlacedHandle,
  adopt: (record: SandboxRecord) => Promise<void>,
): Promise<void> {
  try {
    const record = await recordOfOrphan(adoption, handle);
    if (!record) return events.orphanNotAdopted(handle.sandboxId);
    await store.insertSandbox(record);
    await adopt(record);
    if (record.state === "running") await handOver(adoption, record);
    events.orphanAdopted(record, UNKNOWN_OF_ORPHAN);
  } catch (error) {
    events.orphanNotAdopted(handle.sandboxId, error);
  }
}

interface Orphans {
  readonly gone: readonly PlacedHandle[];
  readonly kept: readonly PlacedHandle[];
}

/** Divides sandboxes without a living record into those to be removed (`gone`: the policy says so, the store knows their end, or nobody ever had them) and those to be kept. */
export async function sortOrphans(
  { store, placement }: Pick<RestartParts, "store" | "placement">,
  policy: OrphanPolicy,
  all: PlacedHandle[],
): Promise<Orphans> {
  if (policy === "remove") return { gone: all, kept: [] };
  const isNobodys = async (handle: PlacedHandle) =>
    (await store.getSandbox(handle.sandboxId))?.state === "dead" || (await isOfPool(placement.driverOf(handle), handle));
  const areNobodys = await Promise.all(all.map(isNobodys));
  return { gone: all.filter((_, i) => areNobodys[i]), kept: all.filter((_, i) => !areNobodys[i]) };
}

/** Adopts a sandbox whose state the driver could not tell at the start, or whose last transition could not be undone. Returns true while the driver's record of the sandbox is damaged. */
export async function adoptLate(parts: RestartParts, sandbox: Sandbox, handle: PlacedHandle | undefined): Promise<boolean> {
  const tell = sandbox.pending === "undo" ? parts.events.undone : parts.events.adopted;
  const cause = await adoptOne(parts, sandbox.record, () => parts.engine.adopt(sandbox.record, handle), tell.bind(parts.events));
  if (cause === "damaged") return true;
  if (cause !== "adopted" && cause !== "later") await parts.engine.end(sandbox, cause).catch(() => {});
  return false;
}

/** `adopted` if the sandbox goes on, `later` if nothing is to be done now, `damaged` for quarantine, else the cause of its removal. */
async function adoptOne(
  { events }: RestartParts,
  record: SandboxRecord,
  ask: () => ReturnType<Engine["adopt"]>,
  tell: EventLog["adopted"] = events.adopted.bind(events),
): Promise<EndCause | "adopted" | "later" | "damaged"> {
  const answer = await ask();
  if (answer.next === "running" || answer.next === "paused") {
    tell(record, answer.next);
    return "adopted";
  }
  if (answer.next === "damaged") return "damaged";
  if (answer.next !== "remove") return "later";
  events.notAdopted(record.id, answer.cause);
  return answer.cause;
}

async function removeAll({ engine, quarantine }: RestartParts, leftovers: Leftover[], orphans: readonly PlacedHandle[]): Promise<void> {
  await atOnce(leftovers, AT_ONCE, async ({ sandbox, cause }) => {
    // The sweep tries a failed removal again.
    if (sandbox.state === "killing") await engine.retryRemoval(sandbox).catch(() => {});
    else await engine.end(sandbox, cause).catch(() => {});
  });
  await atOnce(orphans, AT_ONCE, (handle) => quarantine.remove(handle));
}
