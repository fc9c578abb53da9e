import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { RetentionKind, SandboxMetric } from "@boxyard/spec/platform";
import type { GuestLog } from "../logs/guest-log.ts";
import type { SandboxLogs } from "../logs/sandbox-logs.ts";
import type { MetricHistory, MetricRange } from "../metrics/history.ts";
import type { RouteTable } from "../proxy/route-table.ts";
import type { SandboxLogLine, SandboxLogQuery, SandboxRecord, SandboxUsage, Store } from "../store/index.ts";
import type { Engine } from "./engine/engine.ts";
import { type IdleTimes, idleTimesOf } from "./engine/idle.ts";
import { sandboxNotFound } from "./problems.ts";
import type { Liveness } from "./upkeep/liveness.ts";

export interface ObservationsParts {
  readonly engine: Engine;
  readonly routes: Pick<RouteTable, "find">;
  readonly store: Pick<Store, "getSandbox">;
  /** When rules of retention delete things. */
  readonly retention: { dateOf(kind: RetentionKind, id: string): number | undefined };
  readonly history: MetricHistory;
  readonly liveness: Liveness;
  readonly logs: SandboxLogs;
  readonly guests: Pick<GuestLog, "catchUp">;
}

/** How long a reader of a log waits for what the agent can say: one that hangs says nothing. */
const GUEST_MS = 1000;

/** Largest number of sandboxes in one request for metrics. */
const MAX_METRIC_IDS = 100;

/** The server's observations of a team's sandboxes: their logs, their metrics, and whether their agents answer. */
export class Observations {
  private readonly parts: ObservationsParts;

  constructor(parts: ObservationsParts) {
    this.parts = parts;
  }

  /** True if the sandbox runs and its agent no longer answers. */
  isUnresponsive(id: SandboxId): boolean {
    const { engine, liveness } = this.parts;
    return liveness.isUnresponsive(engine.sandboxes.find(id));
  }

  /** Since when a sandbox is idle, and its end for that; undefined if it may be idle for all its time. */
  idleTimesOf(id: SandboxId): IdleTimes | undefined {
    const { engine, routes } = this.parts;
    const sandbox = engine.sandboxes.find(id);
    return sandbox && idleTimesOf(sandbox, sandbox.state === "running" ? routes.find(id) : undefined);
  }

  /** When a rule of retention deletes something; undefined if none does. */
  deletionOf(kind: RetentionKind, id: string): number | undefined {
    return this.parts.retention.dateOf(kind, id);
  }

  /** Log lines of a sandbox, also after its end. Throws `not_found`. */
  async logsOf(teamId: TeamId, id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]> {
    await this.recordOf(teamId, id);
    await this.parts.guests.catchUp(this.parts.engine.sandboxes.find(id), GUEST_MS);
    return this.parts.logs.read(id, query);
  }

  /** What was measured of one sandbox, oldest first. Throws `not_found`, and `invalid_argument` for a range that ends before it begins. */
  async metricsOf(teamId: TeamId, id: SandboxId, range: MetricRange): Promise<SandboxMetric[]> {
    return this.parts.history.ofSandbox(this.parts.engine.sandboxes.visibleOf(teamId, id).record, range);
  }

  /** The newest sample of each of these sandboxes that has one. */
  newestMetrics(teamId: TeamId, ids: readonly string[]): Record<string, SandboxMetric> {
    if (ids.length > MAX_METRIC_IDS) {
      throw new AppError("invalid_argument", `sandbox_ids: at most ${MAX_METRIC_IDS} ids`, { reason: "too_many_ids" });
    }
    const newest: Record<string, SandboxMetric> = {};
    for (const id of ids) {
      const own = this.parts.engine.sandboxes.findOf(teamId, id as SandboxId);
      const sample = own && this.parts.history.newest(own.record);
      if (sample) newest[id] = sample;
    }
    return newest;
  }

  /** What a sandbox has used so far; undefined before its first measurement. */
  usageOf(record: SandboxRecord): SandboxUsage | undefined {
    return this.parts.history.usageOf(record);
  }

  /** The record of a sandbox, also after its end, for as long as the store keeps it. Throws `not_found`. */
  async recordOf(teamId: TeamId, id: SandboxId): Promise<SandboxRecord> {
    const record = this.parts.engine.sandboxes.find(id)?.record ?? (await this.parts.store.getSandbox(id));
    if (record?.teamId !== teamId || record.owner.kind !== "user") throw sandboxNotFound(id);
    return record;
  }
}
