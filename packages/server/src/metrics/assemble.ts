import type { Clock } from "@boxyard/core";
import type { SandboxRecord, Store } from "../store/index.ts";
import { MetricHistory } from "./history.ts";
import { type Metering, Meters } from "./meters.ts";
import { MetricWriter } from "./metric-writer.ts";
import { TeamMetrics } from "./teams.ts";

export interface Metrics {
  readonly meters: Meters;
  readonly teams: TeamMetrics;
  readonly writer: MetricWriter;
  readonly history: MetricHistory;
  readonly metering: Metering;
}

/** The parts that measure sandboxes and answer what was measured. The sampler, which needs the engine, makes the rounds. */
export async function assembleMetrics(parts: { store: Store; clock: Clock }): Promise<Metrics> {
  const meters = new Meters(parts);
  await meters.open();
  const teams = new TeamMetrics();
  const writer = new MetricWriter({ ...parts, meters, teams });
  const metering: Metering = {
    settle: (sandbox) => meters.settle(sandbox),
    keep: async (sandbox) => {
      await meters.settle(sandbox);
      // A store that does not take it gets it with the next flush.
      await writer.flush().catch(() => {});
    },
    created: (record: SandboxRecord, before) => {
      if (record.owner.kind !== "user") return;
      if (before) meters.begin(record, before.cpuUsec);
      teams.created(record.teamId, parts.clock.now());
    },
  };
  return {
    meters,
    teams,
    metering,
    writer,
    history: new MetricHistory({ ...parts, meters, teams }),
  };
}
