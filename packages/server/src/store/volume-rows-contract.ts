import { expect, test } from "bun:test";
import type { Store } from "./store.ts";
import type { VolumeRecord } from "./volume-rows.ts";

/** The part of `storeContract` about volumes. `reopen` opens the store for another node. */
export function volumeRowsContract(current: () => Store, reopen: (node: string) => Promise<Store>): void {
  const sample = async (change: Partial<VolumeRecord> = {}): Promise<VolumeRecord> => {
    const teamId = await current().ensureTeam("default", "Default");
    return { id: "v1", teamId, name: "data", state: "creating", sizeBytes: 2 ** 40, createdAt: 5, ...change };
  };

  test("has one volume per team and name", async () => {
    const volume = await sample();
    const other = { ...volume, id: "v3", teamId: await current().ensureTeam("other", "Other") };
    expect(await current().volumes.add(volume)).toBe(true);
    expect(await current().volumes.add({ ...volume, id: "v2" })).toBe(false);
    expect(await current().volumes.add(other)).toBe(true);
    expect(await current().volumes.find("v1")).toEqual(volume);
    expect(await current().volumes.findNamed(other.teamId, "data")).toEqual(other);
    expect([await current().volumes.find("v2"), await current().volumes.findNamed(volume.teamId, "x")]).toEqual([undefined, undefined]);
    expect(await current().volumes.list()).toEqual([volume, other]);
  });

  test("changes a volume only from the state named, and writes an event of each change", async () => {
    const volume = await sample();
    await current().volumes.add(volume);
    expect(await current().volumes.setState("v1", "ready", "deleting")).toBe(false);
    expect(await current().volumes.setState("v1", "creating", "ready")).toBe(true);
    expect(await current().volumes.find("v1")).toEqual({ ...volume, state: "ready" });
    for (const id of ["v1", "v1", "none"]) await current().volumes.setSize(id, 7);
    expect((await current().volumes.find("v1"))?.sizeBytes).toBe(7);
    await current().volumes.remove("v1");
    await current().volumes.remove("v1");
    expect(await current().volumes.list()).toEqual([]);
    const events = await current().events.read(0, 10);
    expect(events.map(({ action, targetId }) => [action, targetId])).toEqual([
      ["volume.created", "v1"],
      ["volume.ready", "v1"],
      ["volume.resized", "v1"],
      ["volume.removed", "v1"],
    ]);
  });

  test("shows the volumes of its own node only", async () => {
    const volume = await sample();
    await current().volumes.add(volume);
    const elsewhere = await reopen("elsewhere");
    expect([await elsewhere.volumes.list(), await elsewhere.volumes.find("v1")]).toEqual([[], undefined]);
    // Two nodes of a team cannot have volumes of one name, so that a name always means the same files.
    expect(await elsewhere.volumes.add({ ...volume, id: "v2" })).toBe(false);
  });
}
