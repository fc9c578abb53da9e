import { expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import type { Store } from "./store.ts";

/** The part of `storeContract` about operations. `reopen` opens the store for another node. */
export function operationRowsContract(current: () => Store, reopen: (node: string) => Promise<Store>): void {
  const begin = async (id: string) => {
    const teamId = await current().ensureTeam("default", "Default");
    const operation = { id, teamId, kind: "fork", step: "capture", input: { ids: ["a", "b"] }, createdAt: 5 };
    await current().operations.begin(operation);
    return operation;
  };

  test("has an operation from its begin until it is undone, or until long after its end", async () => {
    const { operations } = current();
    const [one, two] = [await begin("1"), await begin("2")];
    expect([await operations.find("1"), await operations.find("3")]).toEqual([one, undefined]);
    expect(await operations.listUnfinished()).toEqual([one, two]);
    await operations.setStep("1", "makeCopies");
    await operations.finish("1", [{ error: "no" }], 9);
    const finished = { ...one, step: "makeCopies", output: [{ error: "no" }], finishedAt: 9 };
    expect([await operations.find("1"), await operations.listUnfinished()]).toEqual([finished, [two]]);
    for (let n = 0; n < 2; n++) await operations.remove("2");
    await operations.prune(9);
    expect([await operations.find("1"), await operations.find("2")]).toEqual([finished, undefined]);
    await operations.prune(10);
    expect(await operations.find("1")).toBeUndefined();
    await expect(Promise.all([begin("4"), begin("4")])).rejects.toThrow();
  });

  test("is unfinished again when it is undone after its end", async () => {
    const { operations } = current();
    const one = await begin("1");
    await operations.finish("1", [], 9);
    await operations.reopen("1");
    expect(await operations.listUnfinished()).toEqual([one]);
  });

  test.each(["finish", "remove"] as const)("needs its checkpoint from the begin of that until its own end (%s)", async (end) => {
    const { operations, checkpoints } = current();
    const { teamId } = await begin("1");
    const holder = { kind: "operation", id: "1" } as const;
    await checkpoints.begin({ id: "c1", teamId, sandboxId: "i" as SandboxId, memory: true, createdAt: 5, holder });
    expect([(await checkpoints.find("c1"))?.references, await checkpoints.listUnused()]).toEqual([1, []]);
    await (end === "finish" ? operations.finish("1", [], 9) : operations.remove("1"));
    expect((await checkpoints.listUnused()).map(({ id }) => id)).toEqual(["c1"]);
  });

  test("shows the operations of its own node only", async () => {
    await begin("1");
    const elsewhere = await reopen("elsewhere");
    expect([await elsewhere.operations.listUnfinished(), await elsewhere.operations.find("1")]).toEqual([[], undefined]);
  });
}
