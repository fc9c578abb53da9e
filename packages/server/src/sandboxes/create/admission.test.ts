import { expect, test } from "bun:test";
import { AppError, FakeClock } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import { sampleRecord } from "../../store/sample-record.ts";
import { Admission } from "./admission.ts";

const never = new AbortController().signal;

/** An admission whose gates say when they are asked; the one named `refuses` lets nothing pass. */
function setUp(refuses?: string) {
  const seen: string[] = [];
  const ask = (gate: string) => {
    seen.push(gate);
    if (gate === refuses) throw new AppError("unavailable", gate);
  };
  const through = (gate: string) => async (_of: unknown, work: () => Promise<never>) => {
    ask(gate);
    return work();
  };
  const clock = new FakeClock(5000);
  const admission = new Admission({
    idempotency: { run: ({ make }) => make("i1" as never, async () => "i2" as never) },
    quota: { begin: () => ask("quota"), beginsAgain: () => {}, createsOf: () => 0 },
    turns: { run: (_team, _signal, work) => through("turn")(undefined, work as () => Promise<never>) },
    placement: { place: (record) => ({ ...record, facts: { ...record.facts, node: "other" } }) },
    capacityOf: ({ facts }) => ({ run: through(`room of ${facts.node}`), start: through("room") }),
    places: { check: () => ask("place"), checkTeam: () => ask("team"), hold: through("place") },
    clock,
  });
  const make = async (record: SandboxRecord) => {
    seen.push("make");
    return record;
  };
  return { admission, clock, seen, make };
}

test("a create passes the gates in their order, and its dates begin when it has passed them", async () => {
  const { admission, seen, make } = setUp();
  const wanted = sampleRecord({ createdAt: 1, endAt: 2 });
  expect(await admission.create(wanted, never, make)).toEqual({
    ...wanted,
    facts: { ...wanted.facts, node: "other" },
    createdAt: 5000,
    endAt: 50_000,
  });
  expect(seen).toEqual(["place", "quota", "turn", "room of other", "place", "make"]);
});

test("a build's sandbox needs room alone", async () => {
  const { admission, seen, make } = setUp();
  await admission.create(sampleRecord({ owner: { kind: "build", id: "b" } }), never, make);
  expect(seen).toEqual(["room of other", "make"]);
});

test.each([
  ["quota", ["place", "quota"]],
  ["turn", ["place", "quota", "turn"]],
  ["room of other", ["place", "quota", "turn", "room of other"]],
  ["place", ["place"]],
])("what the gate %p refuses is not made, and no later gate is asked", async (gate, asked) => {
  const { admission, seen, make } = setUp(gate);
  await expect(admission.create(sampleRecord(), never, make)).rejects.toThrow(gate);
  expect(seen).toEqual(asked);
});
