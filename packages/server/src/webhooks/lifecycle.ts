import { createHash } from "node:crypto";
import type { SandboxId } from "@boxyard/core";
import type { LifecycleEvent, LifecycleType } from "@boxyard/spec/platform";
import { lifecycleOf, resourcesOf, type SandboxRecord, type Store, type StoreEvent } from "../store/index.ts";

/** Larger metadata are left out of an event. */
const MAX_METADATA_BYTES = 4096;
/** Makes lifecycle events of the store's events, and looks up each sandbox once. */
export class LifecycleEvents {
  private readonly store: Pick<Store, "getSandbox" | "getSandboxes">;
  private readonly records = new Map<string, Promise<SandboxRecord | undefined>>();

  constructor(store: Pick<Store, "getSandbox" | "getSandboxes">) {
    this.store = store;
  }

  /** The lifecycle events of some hundreds of events. */
  async ofAll(events: readonly StoreEvent[]): Promise<LifecycleEvent[]> {
    const ids = [...new Set(events.map(({ targetId }) => targetId as SandboxId))];
    for (const record of await this.store.getSandboxes(ids)) this.records.set(record.id, Promise.resolve(record));
    return (await Promise.all(events.map((event) => this.of(event)))).filter((event) => event !== undefined);
  }

  /** The lifecycle event of an event; undefined where it is none, or the sandbox is not a user's, or its record was removed. */
  async of(event: StoreEvent): Promise<LifecycleEvent | undefined> {
    const type = lifecycleOf(event);
    if (type === undefined) return undefined;
    const record = await this.recordOf(event.targetId as SandboxId);
    return record?.owner.kind === "user" ? lifecycleEvent(event, type, record) : undefined;
  }

  private recordOf(id: SandboxId): Promise<SandboxRecord | undefined> {
    const known = this.records.get(id) ?? this.store.getSandbox(id);
    this.records.set(id, known);
    return known;
  }
}

function lifecycleEvent(event: StoreEvent, type: LifecycleType, record: SandboxRecord): LifecycleEvent {
  const { metadata } = record.settings;
  const endAt = event.after?.endAt;
  return {
    version: "v2",
    id: uuidOf(`event ${event.cursor} ${event.at}`),
    type,
    timestamp: iso(event.at),
    event_category: "lifecycle",
    event_label: type.slice(type.lastIndexOf(".") + 1),
    event_data: {
      ...(Buffer.byteLength(JSON.stringify(metadata)) <= MAX_METADATA_BYTES && { sandbox_metadata: { ...metadata } }),
      ...executionOf(event, type, record),
      ...(type === "sandbox.lifecycle.updated" && typeof endAt === "number" && { set_timeout: iso(endAt) }),
    },
    sandbox_id: record.id,
    sandbox_execution_id: uuidOf(`execution ${record.id} ${String(event.after?.incarnation ?? record.incarnation)}`),
    sandbox_template_id: record.templateId,
    sandbox_build_id: record.facts.buildId ?? "",
    sandbox_team_id: record.teamId,
  };
}

function executionOf({ at }: StoreEvent, type: LifecycleType, record: SandboxRecord): Pick<LifecycleEvent["event_data"], "execution"> {
  const { startedAt } = record;
  const isEnd = type === "sandbox.lifecycle.paused" || type === "sandbox.lifecycle.killed";
  // A record that has started again since is not that of the execution that has ended.
  if (!isEnd || startedAt === undefined || startedAt > at) return {};
  const { cpuCount, memoryBytes } = resourcesOf(record);
  const size = { vcpu_count: cpuCount, memory_mb: Math.round(memoryBytes / 2 ** 20) };
  return { execution: { started_at: iso(startedAt), ...size, execution_time: at - startedAt } };
}

const iso = (ms: number) => new Date(ms).toISOString();

/** The same text gives the same id, so that a repeated delivery can be recognised. */
function uuidOf(text: string): string {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `8${hex.slice(13, 16)}`, `8${hex.slice(17, 20)}`, hex.slice(20, 32)].join("-");
}
