import { expect, test } from "bun:test";
import { newSandboxId, type SandboxId, type SandboxState, type TeamId } from "@boxyard/core";
import type { LivesQuery } from "./event.ts";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

/** The part of `storeContract` about events of sandboxes' lives. */
export function livesContract(store: () => Store): void {
  const teamId = "lives" as TeamId;
  const make = async (change: Parameters<typeof sampleRecord>[0] = {}) => {
    const record = sampleRecord({ id: newSandboxId(), teamId, ...change });
    await store().insertSandbox(record);
    await move(record.id, "creating", "running");
    return record.id;
  };
  const move = (id: SandboxId, from: SandboxState, state: SandboxState, more = {}) =>
    store().updateSandbox(id, [from], { state, ...more }, { state: from });
  const told = async (query: Partial<LivesQuery> = {}, team = teamId) =>
    (await store().events.livesOf(team, { offset: 0, limit: 100, oldestFirst: true, ...query })).map(
      ({ action, targetId }) => `${action.slice("sandbox.".length)} ${targetId}`,
    );

  test("events of the lives of a team's sandboxes are read in both orders, by type, by sandbox, and from an offset", async () => {
    const [a, b] = [await make(), await make()];
    await make({ teamId: "other" as TeamId });
    await move(a, "running", "pausing");
    await move(a, "pausing", "paused");
    await store().updateSandbox(b, ["running"], { endAt: 9 }, { endAt: 8 });
    await store().updateSandbox(b, ["running"], { checkpointId: "c" }, {});
    await move(b, "running", "killing");
    await move(b, "killing", "dead", { endedAt: 5, reason: "requested" });
    const all = [`running ${a}`, `running ${b}`, `paused ${a}`, `changed ${b}`, `dead ${b}`];
    expect(await told()).toEqual(all);
    expect(await told({ oldestFirst: false })).toEqual(all.toReversed());
    expect(await told({ offset: 1, limit: 2 })).toEqual(all.slice(1, 3));
    expect(await told({ offset: 1, limit: 2, oldestFirst: false })).toEqual(all.toReversed().slice(1, 3));
    expect(await told({ offset: 5 })).toEqual([]);
    const types = ["sandbox.lifecycle.killed", "sandbox.lifecycle.paused"] as const;
    expect(await told({ types })).toEqual([`paused ${a}`, `dead ${b}`]);
    expect(await told({ types: [] })).toEqual([]);
    expect(await told({ targetId: b })).toEqual([`running ${b}`, `changed ${b}`, `dead ${b}`]);
    expect(await told({ targetId: b, oldestFirst: false, offset: 1, limit: 1, types: [...types, "sandbox.lifecycle.updated"] })).toEqual([
      `changed ${b}`,
    ]);
    expect(await told({ targetId: b }, "other" as TeamId)).toEqual([]);
  });

  test("there are none of sandboxes of builds, of creates that failed, and of sandboxes whose records were removed", async () => {
    await make({ owner: { kind: "build", id: "b" } });
    const failed = sampleRecord({ id: newSandboxId(), teamId });
    await store().insertSandbox(failed);
    await move(failed.id, "creating", "killing");
    await move(failed.id, "killing", "dead", { endedAt: 5, reason: "create_failed" });
    expect(await told()).toEqual([]);
    const gone = await make();
    await move(gone, "running", "killing");
    await move(gone, "killing", "dead", { endedAt: 5, reason: "timeout" });
    expect(await told()).toHaveLength(2);
    await store().pruneSandboxes(6);
    expect(await told()).toEqual([]);
    expect(await told({ targetId: gone })).toEqual([]);
  });
}
