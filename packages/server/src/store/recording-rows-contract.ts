import { expect, test } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { Store } from "./store.ts";

/** The part of `storeContract` about recordings. */
export function recordingRowsContract(current: () => Store): void {
  const [teamId, other] = ["t1" as TeamId, "t2" as TeamId];
  const record = { id: "r1", teamId, name: "run", createdAt: 5 };

  test("keeps recordings by team and name, with the first reason for which one lacks something, or was stopped", async () => {
    const { recordings, events } = current();
    expect(await recordings.add(record, 2)).toBe("added");
    expect(await recordings.add({ ...record, id: "r2" }, 2)).toBe("name_taken");
    expect(await recordings.add({ ...record, id: "r3", teamId: other }, 2)).toBe("added");
    expect(await recordings.add({ ...record, id: "r4", name: "second", createdAt: 6 }, 2)).toBe("added");
    expect(await recordings.add({ ...record, id: "r5", name: "third" }, 2)).toBe("too_many");
    expect([await recordings.find(teamId, "run"), await recordings.find(teamId, "third")]).toEqual([record, undefined]);
    expect((await recordings.list(teamId)).map(({ id }) => id)).toEqual(["r1", "r4"]);
    expect((await recordings.list()).map(({ id }) => id)).toEqual(["r1", "r3", "r4"]);
    await recordings.markIncomplete("r1", "protocol");
    await recordings.markIncomplete("r1", "size");
    await recordings.markIncomplete("r1", "protocol");
    await recordings.markIncomplete("r1", "disk");
    expect(await recordings.find(teamId, "run")).toEqual({ ...record, incomplete: "size" });
    expect([await recordings.remove("r1"), await recordings.remove("r1")]).toEqual([true, false]);
    const told = (await events.read(0, 20)).filter(({ targetId }) => targetId === "r1");
    expect(told.map(({ action, before, after }) => [action, before, after])).toEqual([
      ["recording.created", undefined, { name: "run" }],
      ["recording.incomplete", undefined, { name: "run", incomplete: "protocol" }],
      ["recording.incomplete", undefined, { name: "run", incomplete: "size" }],
      ["recording.removed", { name: "run" }, undefined],
    ]);
  });
}
