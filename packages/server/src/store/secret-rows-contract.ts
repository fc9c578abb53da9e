import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { Store } from "./store.ts";

/** The part of `storeContract` about secrets. */
export function secretRowsContract(current: () => Store): void {
  const [teamId, other] = ["t1" as TeamId, "t2" as TeamId];
  const secret = { id: "sec_1", teamId, name: "key", value: "value-one", metadata: { a: "b" }, createdAt: 5 };
  const record = { id: "sec_1", teamId, name: "key", version: 1, metadata: { a: "b" }, createdAt: 5, updatedAt: 5 };

  test("keeps the values of secrets by team and name, and shows none in a record", async () => {
    const { secrets } = current();
    expect(await secrets.add(secret, 2)).toBe("added");
    expect(await secrets.add({ ...secret, id: "sec_2" }, 2)).toBe("name_taken");
    expect(await secrets.add({ ...secret, id: "sec_3", teamId: other, value: "of another" }, 2)).toBe("added");
    expect(await secrets.add({ ...secret, id: "sec_4", name: "second", createdAt: 6 }, 2)).toBe("added");
    expect(await secrets.add({ ...secret, id: "sec_5", name: "third" }, 2)).toBe("too_many");
    expect(await secrets.find(teamId, "key")).toEqual(record);
    expect((await secrets.list(teamId)).map(({ id }) => id)).toEqual(["sec_1", "sec_4"]);
    const read = [teamId, other].flatMap((team) => ["sec_1", "key", "none"].map((key) => secrets.value(team, key)));
    expect(await Promise.all(read)).toEqual(["value-one", "value-one", undefined, undefined, "of another", undefined]);
  });

  test("gives a secret its next version, and keeps its metadata unless there are new ones", async () => {
    const { secrets } = current();
    await secrets.add(secret, 10);
    expect(await secrets.change(teamId, "key", { value: "two", metadata: undefined, at: 7 })).toEqual({
      ...record,
      version: 2,
      updatedAt: 7,
    });
    expect(await secrets.change(teamId, "sec_1", { value: "three", metadata: {}, at: 8 })).toMatchObject({ version: 3, metadata: {} });
    expect(await secrets.change(other, "sec_1", { value: "x", metadata: undefined, at: 9 })).toBeUndefined();
    expect([await secrets.value(teamId, "key"), await secrets.remove(other, "sec_1")]).toEqual(["three", false]);
    expect([await secrets.remove(teamId, "key"), await secrets.remove(teamId, "key")]).toEqual([true, false]);
    expect(await secrets.list(teamId)).toEqual([]);
    const events = await current().events.read(0, 10);
    expect(events.map(({ action, targetId, before, after }) => [action, targetId, before, after])).toEqual([
      ["secret.created", "sec_1", undefined, { name: "key", version: 1 }],
      ["secret.changed", "sec_1", { version: 1 }, { name: "key", version: 2 }],
      ["secret.changed", "sec_1", { version: 2 }, { name: "key", version: 3 }],
      ["secret.removed", "sec_1", { name: "key", version: 3 }, undefined],
    ]);
  });
}
