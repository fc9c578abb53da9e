import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { SandboxMetric } from "@boxyard/spec/platform";
import type { SandboxLogs } from "../logs/sandbox-logs.ts";
import type { SandboxLogLine, SandboxLogQuery, Store } from "../store/index.ts";
import type { Engine } from "./engine/engine.ts";
import { sandboxNotFound } from "./problems.ts";
import type { Liveness } from "./upkeep/liveness.ts";
import type { Sampler } from "./upkeep/sampler.ts";

export interface ObservationsParts {
  readonly engine: Engine;
  readonly store: Pick<Store, "getSandbox">;
  readonly sampler: Sampler;
  readonly liveness: Liveness;
  readonly logs: SandboxLogs;
}

/** In Unix seconds, both included. */
export interface MetricRange {
  readonly start?: number | undefined;
  readonly end?: number | undefined;
}

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

  /** Log lines of a sandbox, also after its end. Throws `not_found`. */
  async logsOf(teamId: TeamId, id: SandboxId, query: SandboxLogQuery): Promise<SandboxLogLine[]> {
    const record = this.parts.engine.sandboxes.find(id)?.record ?? (await this.parts.store.getSandbox(id));
    if (record?.teamId !== teamId || record.owner.kind !== "user") throw sandboxNotFound(id);
    return this.parts.logs.read(id, query);
  }

  /** Samples of one sandbox, oldest first. Throws `not_found`. */
  metricsOf(teamId: TeamId, id: SandboxId, { start, end }: MetricRange): SandboxMetric[] {
    this.parts.engine.sandboxes.visibleOf(teamId, id);
    if (start !== undefined && end !== undefined && start > end) {
      throw new AppError("invalid_argument", "start: must not be after end", { reason: "invalid_range" });
    }
    return this.parts.sampler.history(id, start, end);
  }

  /** The newest sample of each of these sandboxes that has one. */
  newestMetrics(teamId: TeamId, ids: readonly string[]): Record<string, SandboxMetric> {
    if (ids.length > MAX_METRIC_IDS) {
      throw new AppError("invalid_argument", `sandbox_ids: at most ${MAX_METRIC_IDS} ids`, { reason: "too_many_ids" });
    }
    const newest: Record<string, SandboxMetric> = {};
    for (const id of ids) {
      const isOwn = this.parts.engine.sandboxes.findOf(teamId, id as SandboxId) !== undefined;
      const sample = isOwn ? this.parts.sampler.newest(id) : undefined;
      if (sample) newest[id] = sample;
    }
    return newest;
  }
}
