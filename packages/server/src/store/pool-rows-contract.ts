import { expect, test } from "bun:test";
import { newSandboxId, type TeamId } from "@boxyard/core";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

/** The part of `storeContract` about sandboxes that nobody has yet. */
export function poolRowsContract(current: () => Store): void {
  const waiting = () => sampleRecord({ state: "running", owner: { kind: "pool" }, teamId: "" as TeamId });

  test("a sandbox of the pool leaves no event until a user gets it, and then those of a create", async () => {
    const member = waiting();
    const from = await current().events.newest();
    await current().insertSandbox({ ...member, state: "creating" });
    expect(await current().updateSandbox(member.id, ["creating"], { state: "running" })).toBe(true);
    expect(await current().events.newest()).toBe(from);
    const taken = sampleRecord({ id: member.id, state: "running", startedAt: 7, endAt: 9, checkpointId: "c" });
    expect(await current().takeFromPool(taken)).toBe(true);
    expect(await current().getSandbox(member.id)).toEqual(taken);
    const { id, teamId, facts } = taken;
    expect(await current().events.read(from, 10)).toMatchObject([
      { action: "sandbox.creating", targetId: id, teamId, after: { state: "creating", owner: { kind: "user" }, alias: facts.alias } },
      {
        action: "sandbox.running",
        targetId: id,
        teamId,
        before: { state: "creating" },
        after: { state: "running", startedAt: 7, endAt: 9 },
      },
    ]);
  });

  test("only a sandbox that waits can be taken, and only once", async () => {
    const [used, ending, member] = [sampleRecord({ state: "running" }), waiting(), waiting()];
    for (const record of [used, { ...ending, state: "killing" as const }, member]) await current().insertSandbox(record);
    for (const id of [used.id, ending.id, newSandboxId()])
      expect(await current().takeFromPool(sampleRecord({ id, state: "running", endAt: 1 }))).toBe(false);
    expect(await current().getSandbox(used.id)).toEqual(used);
    const taken = sampleRecord({ id: member.id, state: "running" });
    expect([await current().takeFromPool(taken), await current().takeFromPool(taken)]).toEqual([true, false]);
  });
}
