import { expect, test } from "bun:test";
import type { SandboxId, SandboxState, TeamId } from "@boxyard/core";
import { sampleRecord } from "../../store/sample-record.ts";
import { dice } from "../../testing/dice.ts";
import { StartOrder } from "./start-order.ts";

const TEAMS = ["one", "two"] as TeamId[];
const STATES: readonly SandboxState[] = ["creating", "running", "pausing", "paused", "resuming", "killing"];

test("after any changes each team's part is what sorting its visible sandboxes gives", () => {
  const next = dice(7);
  const order = new StartOrder();
  const records = new Map<SandboxId, ReturnType<typeof sampleRecord>>();
  for (let round = 0; round < 3000; round++) {
    const id = `i${next(60)}` as SandboxId;
    if (next(10) === 0) {
      records.delete(id);
      order.drop(id);
      continue;
    }
    const record = {
      ...sampleRecord({ state: STATES[next(STATES.length)] ?? "running" }),
      ...{ id, teamId: TEAMS[next(2)] as TeamId, createdAt: 0, startedAt: next(20) },
      owner: next(5) === 0 ? ({ kind: "pool" } as const) : ({ kind: "user" } as const),
    };
    records.set(id, record);
    order.follow({ record });
    if (round % 10 !== 0) continue;
    for (const teamId of TEAMS) {
      const shown = [...records.values()].filter((one) => one.teamId === teamId && one.owner.kind === "user");
      const visible = shown.filter(({ state }) => state !== "creating" && state !== "killing");
      const sorted = visible.sort((a, b) => (a.startedAt ?? 0) - (b.startedAt ?? 0) || (a.id < b.id ? -1 : 1));
      const { placed, running } = order.of(teamId);
      expect(placed.map((one) => one.id)).toEqual(sorted.map((one) => one.id));
      expect(running).toBe(sorted.filter(({ state }) => state === "running").length);
    }
  }
});

test("keeps nothing of a team whose sandboxes have ended", () => {
  const order = new StartOrder();
  const record = { ...sampleRecord({ state: "running" }), teamId: TEAMS[0] as TeamId };
  order.follow({ record });
  expect(order.of(record.teamId).placed).toHaveLength(1);
  order.follow({ record: { ...record, state: "killing" } });
  expect(order.of(record.teamId)).toEqual({ placed: [], running: 0 });
});
