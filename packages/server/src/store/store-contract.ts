import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type Clock, newSandboxId, type TeamId } from "@boxyard/core";
import { checkpointRowsContract } from "./checkpoint-rows-contract.ts";
import { eventStoreContract } from "./event-store-contract.ts";
import { livesContract } from "./lives-contract.ts";
import { metricStoreContract } from "./metric-store-contract.ts";
import { operationRowsContract } from "./operation-rows-contract.ts";
import { poolRowsContract } from "./pool-rows-contract.ts";
import { recordingRowsContract } from "./recording-rows-contract.ts";
import type { TemplateSpec } from "./records.ts";
import { keyRecord, sampleRecord } from "./sample-record.ts";
import { GUEST_PLACE, type SandboxLogQuery } from "./sandbox-log-store.ts";
import { sandboxNamesContract } from "./sandbox-names-contract.ts";
import { secretRowsContract } from "./secret-rows-contract.ts";
import type { Store } from "./store.ts";
import { templateStoreContract } from "./template-store-contract.ts";
import { volumeRowsContract } from "./volume-rows-contract.ts";

const SPEC: TemplateSpec = {
  image: { digest: "sha256:aa", layers: ["sha256:bb"] },
  cpuCount: 2,
  memoryMB: 1024,
  diskMB: 10240,
  env: { A: "1" },
  user: "user",
  workdir: "/home/user",
};

export interface StoreUnderTest {
  /** Opens it for a node, with the system's clock by default; twice on the same place stands for a restart. */
  open(node: string, clock?: Clock): Promise<Store>;
  remove(): Promise<void>;
}

const NODE = "here";
/** States in which a sandbox does not outlive its lost node; in the others the node may have kept its memory or disk. */
const ENDED_WITH_NODE = ["creating", "running", "snapshotting", "killing", "failed"] as const;

/** Tests what every store must do; called for each kind of store. */
export function storeContract(name: string, make: () => Promise<StoreUnderTest>): void {
  describe(`store contract: ${name}`, () => {
    let place: StoreUnderTest;
    let store: Store;
    beforeEach(async () => {
      place = await make();
      store = await place.open(NODE);
    });
    afterEach(async () => {
      await store.close();
      await place.remove();
    });

    test("reads a sandbox as it was written, also after a restart", async () => {
      const record = sampleRecord();
      await store.insertSandbox(record);
      expect(await store.getSandbox(record.id)).toEqual(record);
      await store.close();
      store = await place.open(NODE);
      expect(await store.listLiving()).toEqual([record]);
      expect(await store.getSandbox(newSandboxId())).toBeUndefined();
    });

    test("refuses a second sandbox of the same id", async () => {
      const record = sampleRecord();
      await store.insertSandbox(record);
      await expect(store.insertSandbox(record)).rejects.toThrow();
    });

    test("changes a sandbox only from the states named", async () => {
      const record = sampleRecord();
      await store.insertSandbox(record);
      expect(await store.updateSandbox(record.id, ["running"], { endAt: 5 })).toBe(false);
      expect(await store.updateSandbox(record.id, ["creating", "running"], { state: "running", startedAt: 7, endAt: 9 })).toBe(true);
      expect(await store.getSandbox(record.id)).toEqual({ ...record, state: "running", startedAt: 7, endAt: 9 });
    });

    test("lets one of two racing changes win", async () => {
      const record = sampleRecord({ state: "running" });
      await store.insertSandbox(record);
      const won = await Promise.all([1, 2, 3].map((n) => store.updateSandbox(record.id, ["running"], { state: "killing", endAt: n })));
      expect(won.filter(Boolean)).toHaveLength(1);
    });

    test("claims living sandboxes of another node for the node that has them", async () => {
      const [own, dead, unknown] = [sampleRecord({ state: "running" }), sampleRecord({ state: "dead", endedAt: 1 }), newSandboxId()];
      for (const record of [own, dead]) await store.insertSandbox(record);
      await store.close();
      store = await place.open("renamed");
      expect(await store.listLiving()).toEqual([]);
      const from = await store.events.newest();
      expect(await store.claimSandboxes([own.id, dead.id, unknown])).toBe(2);
      expect(await store.events.read(from, 10)).toMatchObject([
        { action: "sandbox.claimed", targetId: own.id, teamId: own.teamId, before: { node: NODE }, after: { node: "renamed" } },
      ]);
      expect(await store.listLiving()).toEqual([own]);
      expect(await store.claimSandboxes([])).toBe(0);
    });

    test("removes dead sandboxes of an age, and no others", async () => {
      const old = sampleRecord({ state: "dead", reason: "timeout", endedAt: 10 });
      const fresh = sampleRecord({ state: "dead", reason: "requested", endedAt: 30 });
      const alive = sampleRecord({ state: "running" });
      for (const record of [old, fresh, alive]) await store.insertSandbox(record);
      await store.pruneSandboxes(20);
      expect(await store.getSandbox(old.id)).toBeUndefined();
      expect(await store.getSandbox(fresh.id)).toEqual(fresh);
      expect(await store.listLiving()).toEqual([alive]);
    });

    test.each(ENDED_WITH_NODE)("leaves a sandbox of another node alone that is %s, until long after its end time", async (state) => {
      const elsewhere = await place.open("elsewhere");
      const [theirs, paused] = [sampleRecord({ state, endAt: 50 }), sampleRecord({ state: "paused", endAt: 50 })];
      try {
        for (const record of [theirs, paused]) await elsewhere.insertSandbox(record);
        const ours = sampleRecord({ state: "running", endAt: 50 });
        await store.insertSandbox(ours);
        expect(await store.listLiving()).toEqual([ours]);
        await store.pruneSandboxes(40);
        expect((await elsewhere.listLiving()).map(({ id }) => id).sort()).toEqual([theirs.id, paused.id].sort());
        const from = await store.events.newest();
        await store.pruneSandboxes(60);
        expect(await store.events.read(from, 10)).toMatchObject([
          { action: "sandbox.forgotten", targetId: theirs.id, teamId: theirs.teamId, before: { state, node: "elsewhere" } },
        ]);
        expect(await elsewhere.listLiving()).toEqual([paused]);
        expect(await store.listLiving()).toEqual([ours]);
      } finally {
        await elsewhere.close();
      }
    });

    test("keeps keys by their hash", async () => {
      const teamId = await store.ensureTeam("default", "Default");
      expect(await store.ensureTeam("default", "Other")).toBe(teamId);
      const key = keyRecord({ teamId });
      await store.keys.add(key);
      await store.keys.add({ ...key, id: "k2" });
      expect(await store.keys.find("h1")).toEqual(key);
      expect(await store.keys.find("h2")).toBeUndefined();
      await store.keys.touch("k1", 77);
      expect(await store.keys.list()).toEqual([{ ...key, lastUsedAt: 77 }]);
      const token = keyRecord({ id: "t", hash: "h3", teamId, kind: "token", parentId: "k1", scopes: ["read"], expiresAt: 9 });
      await store.keys.add(token);
      expect([await store.keys.find("h3"), await store.keys.list("other" as TeamId)]).toEqual([token, []]);
    });

    test("renames and removes keys of a team, with what was made by their holders", async () => {
      const teamId = await store.ensureTeam("default", "Default");
      const other = "another" as TeamId;
      await store.keys.add(keyRecord({ teamId }));
      await store.keys.add(keyRecord({ id: "other", hash: "h9", teamId: other }));
      expect(await store.keys.rename(teamId, "k1", "renamed")).toMatchObject({ id: "k1", name: "renamed" });
      expect([await store.keys.rename(other, "k1", "x"), await store.keys.rename(teamId, "none", "x")]).toEqual([undefined, undefined]);
      await store.keys.add(keyRecord({ id: "token", hash: "h2", teamId, kind: "token", parentId: "k1" }));
      await store.keys.add(keyRecord({ id: "child", hash: "h3", teamId: other, parentId: "token" }));
      expect(await store.keys.childOf("token", other)).toMatchObject({ id: "child" });
      expect([await store.keys.childOf("token", teamId), await store.keys.childOf("k1", teamId)]).toEqual([undefined, undefined]);
      expect([await store.keys.remove(teamId, "other"), await store.keys.remove(teamId, "none")]).toEqual([[], []]);
      expect((await store.keys.remove(teamId, "k1")).sort()).toEqual(["child", "k1", "token"]);
      expect((await store.keys.list()).map(({ id }) => id)).toEqual(["other"]);
    });

    test("keeps teams, and removes one that has nothing but keys", async () => {
      const team = await store.teams.add("research", "Research");
      if (!team) throw new Error("no team");
      expect(team).toMatchObject({ slug: "research", name: "Research", limits: {} });
      expect(await store.teams.add("research", "Again")).toBeUndefined();
      expect([await store.teams.find(team.id), await store.teams.find("research"), await store.teams.find("x")]).toEqual([
        ...[team, team, undefined],
      ]);
      const changed = await store.teams.change(team.id, { name: "R", limits: { sandboxes: 3 }, retention: {} });
      expect([changed, await store.teams.list()]).toEqual([
        { ...team, name: "R", limits: { sandboxes: 3 }, retention: {} },
        [changed],
      ] as never);
      expect(await store.teams.change("none" as TeamId, { name: "x", limits: {}, retention: {} })).toBeUndefined();
      await store.keys.add(keyRecord({ teamId: team.id }));
      const sandbox = { ...sampleRecord(), teamId: team.id };
      await store.insertSandbox(sandbox);
      expect(await store.teams.holdings(team.id)).toEqual({ sandboxes: 1, templates: 0, volumes: 0 });
      expect(await store.teams.remove(team.id)).toBeUndefined();
      await store.updateSandbox(sandbox.id, [sandbox.state], { state: "dead", endedAt: 5 });
      expect(await store.teams.remove(team.id)).toEqual(["k1"]);
      expect([await store.teams.find("research"), await store.keys.list()]).toEqual([undefined, []]);
    });

    test("makes a new build only when a template has changed", async () => {
      const teamId = await store.ensureTeam("default", "Default");
      const { templates } = store;
      await templates.put(teamId, "base", "default", SPEC, 1);
      const [first] = await templates.listVersions();
      await templates.put(teamId, "base", "default", SPEC, 2);
      expect(await templates.listVersions()).toEqual([first as never]);
      const changed = { ...SPEC, memoryMB: 2048 };
      await templates.put(teamId, "base", "default", changed, 3);
      const [second, ...rest] = await templates.listVersions();
      expect(rest).toEqual([]);
      expect(second).toMatchObject({ templateId: first?.templateId, spec: changed, isPublic: true, namespace: "default", assignedAt: 3 });
      expect(second?.buildId).not.toBe(first?.buildId);
    });

    test("leaves a shipped template alone whose tag was moved or that was made private", async () => {
      const teamId = await store.ensureTeam("default", "Default");
      const { templates } = store;
      await templates.put(teamId, "base", "default", SPEC, 1);
      const [shipped] = await templates.listVersions();
      if (!shipped) throw new Error("nothing was put");
      const own = { ...SPEC, memoryMB: 4096 };
      await templates.put(teamId, "base", "default", own, 2);
      await templates.setPublic(shipped.templateId, false, 3);
      await templates.put(teamId, "base", "default", SPEC, 4);
      expect(await templates.listVersions()).toMatchObject([{ tag: "default", spec: own, isPublic: false, assignedAt: 2 }]);
      await templates.put(teamId, "base", "default", { ...SPEC, memoryMB: 512 }, 5);
      expect(await templates.listVersions()).toMatchObject([{ spec: { memoryMB: 512 }, isPublic: false, assignedAt: 5 }]);
    });

    templateStoreContract(() => store);
    livesContract(() => store);
    eventStoreContract(
      () => store,
      async (clock) => {
        await store.close();
        store = await place.open(NODE, clock);
        return store;
      },
    );

    sandboxNamesContract(() => store);
    secretRowsContract(() => store);
    recordingRowsContract(() => store);
    poolRowsContract(() => store);
    const reopenFor = async (node: string) => {
      await store.close();
      store = await place.open(node);
      return store;
    };
    for (const rowsContract of [volumeRowsContract, checkpointRowsContract, operationRowsContract, metricStoreContract])
      rowsContract(() => store, reopenFor);

    test("keeps the newest lines of sandboxes' logs in order, until the record is removed", async () => {
      const record = sampleRecord({ state: "dead", endedAt: 10 });
      await store.insertSandbox(record);
      const { id: sandboxId } = record;
      const line = (place: number, message = `m${place}`) => ({
        sandboxId,
        at: Math.floor(place / 2),
        place,
        level: place === 3 ? ("error" as const) : ("info" as const),
        message,
        fields: { place: `${place}` },
      });
      const lines = [0, 1, 2, 3, 4].map((place) => line(place));
      await store.sandboxLogs.add(lines, 100);
      await store.sandboxLogs.add([], 100);
      await store.sandboxLogs.add([line(0, "again"), line(5, "100%_\\")], 5);
      const read = async (query: object) =>
        (await store.sandboxLogs.read(sandboxId, { direction: "forward", limit: 100, minLevel: "debug", ...query } as SandboxLogQuery)).map(
          ({ place }) => place,
        );
      expect(await store.sandboxLogs.read(sandboxId, { direction: "forward", limit: 2, minLevel: "debug", cursor: 1 })).toEqual(
        lines.slice(2, 4),
      );
      expect(await read({ cursor: 1 })).toEqual([2, 3, 4, 5]);
      expect(await read({ direction: "backward", cursor: 1, limit: 2 })).toEqual([3, 2]);
      expect(await read({ direction: "backward", limit: 1 })).toEqual([5]);
      expect(await read({ minLevel: "warn" })).toEqual([3]);
      expect([await read({ search: "M4" }), await read({ search: "%_\\" }), await read({ search: "_m" })]).toEqual([[4], [5], []]);
      await store.sandboxLogs.add([line(8)], 3);
      expect(await read({})).toEqual([4, 5, 8]);
      await store.pruneSandboxes(11);
      expect(await read({})).toEqual([]);
    });

    test("keeps lines of the server beside any number of lines of the guest", async () => {
      const { id: sandboxId } = sampleRecord({ state: "dead", endedAt: 10 });
      const line = (at: number, place: number) => ({ sandboxId, at, place, level: "info" as const, message: `m${place}`, fields: {} });
      await store.sandboxLogs.add([line(1, 1), line(2, 2)], 3);
      // All of one millisecond: their places order them.
      await store.sandboxLogs.add(
        [5, 6, 7, 8, 9].map((seq) => line(3, GUEST_PLACE + seq)),
        3,
      );
      await store.sandboxLogs.add([line(3, GUEST_PLACE + 10)], 3);
      const all = await store.sandboxLogs.read(sandboxId, { direction: "forward", limit: 100, minLevel: "debug" });
      expect(all.map(({ place }) => place)).toEqual([1, 2, GUEST_PLACE + 8, GUEST_PLACE + 9, GUEST_PLACE + 10]);
    });

    test("makes a value once", async () => {
      const values = await Promise.all(["a", "b", "c"].map((v) => store.getOrCreateMeta("seed", () => v)));
      expect(new Set(values).size).toBe(1);
    });

    test("lets one claim of an idempotency key win, and removes claims", async () => {
      const claim = { teamId: "t" as TeamId, key: "k", fingerprint: "f", madeId: newSandboxId(), createdAt: 5 };
      expect(await store.claimKey(claim)).toBeUndefined();
      const other = { ...claim, fingerprint: "g", madeId: newSandboxId() };
      expect(await store.claimKey(other)).toEqual(claim);
      await store.dropKey(claim.teamId, "k", other.madeId);
      expect(await store.claimKey(other)).toEqual(claim);
      await store.dropKey(claim.teamId, "k", claim.madeId);
      expect(await store.claimKey(other)).toBeUndefined();
      await store.pruneKeys(6);
      expect(await store.claimKey(claim)).toBeUndefined();
    });
  });
}
