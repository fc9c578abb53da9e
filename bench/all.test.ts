import { expect, test } from "bun:test";
import type { Platform } from "@boxyard/testkit";
import { LEFT_OUT, LIMIT_MS, measureAll, PLAN } from "./all.ts";
import { benches } from "./benches/index.ts";
import type { Bench, BenchResult } from "./lib/bench.ts";

const nothing: BenchResult = { series: {}, verdicts: [], notes: [] };
const bench = (name: string, run: Bench["run"]): Bench => ({ name, promises: [1], what: name, run });
const ended = async () => nothing;
/** The benches here use no platform. */
const platform = {} as Platform;
const measure = (all: readonly Bench[], limitMs?: number, isOver = () => false) =>
  measureAll(platform, { say: () => {}, isOver, all, ...(limitMs !== undefined && { limitMs }) });

test("each bench has its place in the plan, or the reason why it has none; together they take less than the time", () => {
  expect([...Object.keys(PLAN), ...Object.keys(LEFT_OUT)].sort()).toEqual(benches.map(({ name }) => name).sort());
  const seconds = Object.values(PLAN).reduce((sum, planned) => sum + planned.seconds, 0);
  expect(seconds * 1000).toBeLessThan(LIMIT_MS);
});

test("one that fails keeps no other from its run, and what is left out has its reason", async () => {
  const failing = bench("command", () => Promise.reject(new Error("no agent\n  at some place")));
  const page = await measure([failing, bench("compose", ended), bench("soak", ended)]);
  expect(page.benches.map(({ name, outcome }) => [name, outcome])).toEqual([
    ["command", { failed: "no agent" }],
    ["compose", { result: nothing }],
    ["soak", { skipped: LEFT_OUT.soak as string }],
  ]);
});

test("what does not fit into the time is not begun, nor anything after a signal", async () => {
  const { benches: late } = await measure([bench("compose", ended)], 1000);
  expect(late.map(({ outcome }) => outcome)).toEqual([{ skipped: "no time was left: ./boxyard bench compose" }]);
  let runs = 0;
  const counting = bench("compose", async () => {
    runs += 1;
    return nothing;
  });
  expect((await measure([counting, counting], undefined, () => runs > 0)).benches).toHaveLength(1);
});

test("each gets its own number of rounds", async () => {
  const counts: unknown[] = [];
  await measure([
    bench("fork", async (_platform, count) => {
      counts.push(count);
      return nothing;
    }),
    bench("tti", async (_platform, count) => {
      counts.push(count);
      return nothing;
    }),
  ]);
  expect(counts).toEqual([undefined, PLAN.tti?.count]);
});
