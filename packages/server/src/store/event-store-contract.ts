import { expect, test } from "bun:test";
import { type Clock, FakeClock, newSandboxId, type TeamId } from "@boxyard/core";
import { actAs } from "../actor.ts";
import { keyRecord, sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

const SPEC = { image: { digest: "sha256:aa", layers: [] }, cpuCount: 1, memoryMB: 512, diskMB: 512, env: {}, user: "user", workdir: "/" };

/** The part of `storeContract` about transactions and events. */
export function eventStoreContract(store: () => Store, reopen: (clock?: Clock) => Promise<Store>): void {
  const told = async (after: number) => (await store().events.read(after, 1000)).map(({ action, targetId }) => [action, targetId]);

  test("writes an event with each change: who did what to which, what was before and what is now", async () => {
    const record = sampleRecord();
    const { id, teamId } = record;
    const from = await store().events.newest();
    await actAs({ kind: "key", id: "k7" }, () => store().insertSandbox(record));
    await store().updateSandbox(id, ["creating"], { state: "running", startedAt: 7, endAt: 9 });
    await store().updateSandbox(id, ["running"], { endAt: 12 }, { endAt: 9 });
    const { facts, settings, templateId, owner } = record;
    const inserted = { state: "creating", owner, templateId, alias: facts.alias, resources: facts.resources };
    expect(await store().events.read(from, 10)).toMatchObject([
      {
        cursor: from + 1,
        actor: { kind: "key", id: "k7" },
        action: "sandbox.creating",
        targetId: id,
        teamId,
        after: { ...inserted, internetAccess: settings.egress.internetAccess },
      },
      {
        cursor: from + 2,
        actor: { kind: "server" },
        action: "sandbox.running",
        targetId: id,
        teamId,
        before: { state: "creating" },
        after: { state: "running", startedAt: 7, endAt: 9 },
      },
      { cursor: from + 3, action: "sandbox.changed", targetId: id, teamId, before: { endAt: 9 }, after: { endAt: 12 } },
    ]);
  });

  test("writes events of keys, templates, tags and builds, and none where nothing changed", async () => {
    const teamId = await store().ensureTeam("default", "Default");
    const from = await store().events.newest();
    const { templates } = store();
    await store().keys.add(keyRecord({ teamId }));
    await store().keys.add(keyRecord({ id: "again", teamId }));
    await store().keys.add(keyRecord({ id: "k2", hash: "h2", teamId }));
    await store().keys.remove(teamId, "none");
    await store().keys.remove(teamId, "k1");
    await templates.put(teamId, "base", "default", SPEC, 1);
    await templates.put(teamId, "base", "default", SPEC, 2);
    const [version] = await templates.listVersions();
    const template = String(version?.templateId);
    await templates.updateBuild(String(version?.buildId), ["ready"], { updatedAt: 9 });
    await templates.updateBuild(String(version?.buildId), ["waiting"], { updatedAt: 10 });
    await templates.removeTags(version?.templateId as never, ["default", "none"], 1);
    await templates.remove(version?.templateId as never);
    await templates.remove(version?.templateId as never);
    expect(await told(from)).toEqual([
      ["key.created", "k1"],
      ["key.created", "k2"],
      ["key.revoked", "k1"],
      ["template.created", template],
      ["template.changed", template],
      ["build.ready", String(version?.buildId)],
      ["tag.assigned", `${template}:default`],
      ["build.changed", String(version?.buildId)],
      ["tag.removed", `${template}:default`],
      ["build.removed", String(version?.buildId)],
      ["template.removed", template],
    ]);
    expect((await store().events.read(from, 100)).every((event) => event.teamId === teamId)).toBe(true);
  });

  test("writes an event for each tag and build of a template that is removed, and the old values of a change", async () => {
    const teamId = await store().ensureTeam("default", "Default");
    const { templates } = store();
    await templates.put(teamId, "base", "default", SPEC, 1);
    const [version] = await templates.listVersions();
    const [id, build] = [version?.templateId as never, String(version?.buildId)];
    await templates.assignTags(id, ["v1"], build, 2);
    const from = await store().events.newest();
    await templates.setPublic(id, false, 3);
    await templates.updateBuild(build, ["ready"], { status: "error", updatedAt: 4 });
    await templates.remove(id);
    const events = await store().events.read(from, 10);
    expect(events.slice(0, 2)).toMatchObject([
      { action: "template.changed", before: { isPublic: true }, after: { isPublic: false } },
      { action: "build.error", before: { status: "ready" }, after: { status: "error" } },
    ]);
    const removed = events
      .slice(2)
      .map(({ action, targetId, before, teamId: of }) => ({ action, targetId, before, isOurs: of === teamId }));
    const byAction = (a: { action: string; targetId: string }) => `${a.action} ${a.targetId}`;
    expect(removed.toSorted((a, b) => byAction(a).localeCompare(byAction(b)))).toEqual([
      { action: "build.removed", targetId: build, before: { status: "error" }, isOurs: true },
      { action: "tag.removed", targetId: `${id}:default`, before: { buildId: build }, isOurs: true },
      { action: "tag.removed", targetId: `${id}:v1`, before: { buildId: build }, isOurs: true },
      { action: "template.removed", targetId: id, before: { name: "base" }, isOurs: true },
    ]);
  });

  test("writes no secrets into events, and only the names of large values", async () => {
    const record = sampleRecord();
    const secret = { ...record, facts: { ...record.facts, envVars: { TOKEN: "planted-secret" }, initKey: "planted-key" } };
    const from = await store().events.newest();
    await store().insertSandbox(secret);
    await store().updateSandbox(record.id, ["creating"], { settings: { ...record.settings, metadata: { a: "x".repeat(10_000) } } });
    const events = await store().events.read(from, 10);
    expect(JSON.stringify(events)).not.toContain("planted");
    expect(events[1]?.after).toEqual({ changed: expect.arrayContaining(["metadata", "internetAccess"]) });
  });

  test("writes a transaction as a whole, with one event for each change in it, or not at all", async () => {
    const [one, two] = [sampleRecord(), sampleRecord()];
    const from = await store().events.newest();
    const failing = store().transaction(async (tx) => {
      await tx.insertSandbox(one);
      await tx.transaction((inner) => inner.insertSandbox(two));
      expect((await tx.getSandbox(two.id))?.id).toBe(two.id);
      throw new Error("no");
    });
    await expect(failing).rejects.toThrow("no");
    expect([await store().getSandbox(one.id), await store().getSandbox(two.id), await told(from)]).toEqual([undefined, undefined, []]);
    const both = store().transaction(async (tx) => {
      await tx.insertSandbox(one);
      await tx.insertSandbox(two);
      return "both";
    });
    expect(await both).toBe("both");
    expect((await store().events.read(from, 10)).map(({ cursor, targetId }) => [cursor, targetId])).toEqual([
      [from + 1, one.id],
      [from + 2, two.id],
    ]);
  });

  test("keeps concurrent writes when a transaction is rolled back", async () => {
    const [inside, outside] = [sampleRecord(), sampleRecord()];
    const [entered, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const undone = store().transaction(async (tx) => {
      await tx.insertSandbox(inside);
      entered.resolve();
      await go.promise;
      throw new Error("no");
    });
    undone.catch(() => {});
    await entered.promise;
    const written = store().insertSandbox(outside);
    const seed = store().getOrCreateMeta("other", () => "value");
    // In a store where this write need not wait for the transaction, it is done by now, and must stay.
    await Promise.race([seed, Bun.sleep(50)]);
    go.resolve();
    await expect(undone).rejects.toThrow("no");
    await written;
    expect([await store().getSandbox(inside.id), (await store().getSandbox(outside.id))?.id]).toEqual([undefined, outside.id]);
    expect([await seed, await store().getOrCreateMeta("other", () => "another")]).toEqual(["value", "value"]);
  });

  test("shows events in the order of their cursors, without gaps, while many are written", async () => {
    const from = await store().events.newest();
    const COUNT = 60;
    let isDone = false;
    const writing = Promise.all(
      Array.from({ length: COUNT }, (_, n) =>
        store()
          .transaction(async (tx) => {
            await tx.insertSandbox(sampleRecord());
            if (n % 3 === 0) throw new Error("undone");
          })
          .catch(() => {}),
      ),
    ).then(() => {
      isDone = true;
    });
    const seen: number[] = [];
    const read = async () => {
      for (const { cursor } of await store().events.read(from + seen.length, 7)) seen.push(cursor);
    };
    while (!isDone) await read();
    await writing;
    for (let before = -1; before < seen.length; ) {
      before = seen.length;
      await read();
    }
    expect(seen).toEqual(Array.from({ length: (COUNT / 3) * 2 }, (_, n) => from + 1 + n));
  });

  test("keeps the cursors of readers, also after a restart, and forgets old events", async () => {
    const from = await store().events.newest();
    for (let n = 0; n < 6; n++) await store().insertSandbox(sampleRecord({ id: newSandboxId(), teamId: "t" as TeamId }));
    expect(await store().events.cursorOf("log")).toBeUndefined();
    await store().events.saveCursor("log", from + 2);
    await store().events.saveCursor("log", from + 3);
    const again = await reopen();
    expect(await again.events.cursorOf("log")).toBe(from + 3);
    expect((await again.events.read(from + 3, 2)).map(({ cursor }) => cursor)).toEqual([from + 4, from + 5]);
    await again.events.prune(0, 4);
    expect((await again.events.read(from, 100)).map(({ cursor }) => cursor - from)).toEqual([3, 4, 5, 6]);
    await again.events.prune(Date.now() + 1000, 100);
    expect([await again.events.read(0, 10), await again.events.newest()]).toEqual([[], from + 6]);
    await again.insertSandbox(sampleRecord());
    expect((await again.events.read(0, 10)).map(({ cursor }) => cursor)).toEqual([from + 7]);
  });

  test("stamps events with its own clock", async () => {
    const [past, future] = [Date.UTC(2001), Date.UTC(2101)];
    const from = await store().events.newest();
    for (const time of [past, future]) await (await reopen(new FakeClock(time))).insertSandbox(sampleRecord());
    expect((await store().events.read(from, 10)).map(({ at }) => at)).toEqual([past, future]);
    await store().events.prune(future, 100);
    expect((await store().events.read(from, 10)).map(({ at }) => at)).toEqual([future]);
  });

  test("reads the events of one team, of one kind, of one target", async () => {
    const [ours, theirs] = [sampleRecord(), sampleRecord({ teamId: "other" as TeamId })];
    const from = await store().events.newest();
    for (const record of [ours, theirs]) await store().insertSandbox(record);
    await store().updateSandbox(ours.id, ["creating"], { state: "running" });
    const read = async (teamId: TeamId, filter = {}) =>
      (await store().events.readOf(teamId, from, 10, filter)).map(({ action, targetId }) => [action, targetId]);
    const [made, runs] = [
      ["sandbox.creating", ours.id],
      ["sandbox.running", ours.id],
    ];
    expect(await read(ours.teamId)).toEqual([made, runs]);
    expect(await read(ours.teamId, { action: "sandbox" })).toEqual([made, runs]);
    expect(await read(ours.teamId, { action: "sandbox.running", targetId: ours.id })).toEqual([runs]);
    expect(await read(ours.teamId, { targetId: theirs.id })).toEqual([]);
    expect(await read(ours.teamId, { action: "key" })).toEqual([]);
    expect(await read(ours.teamId, { action: "sandbox.creating" })).toEqual([made]);
    expect(await read(ours.teamId, { action: "sand" })).toEqual([]);
    expect(await store().events.readOf(ours.teamId, from, 1, { action: "sandbox" })).toHaveLength(1);
    expect(await store().events.readOf(ours.teamId, from + 1, 9, { action: "sandbox" })).toHaveLength(1);
    expect(await read(theirs.teamId)).toEqual([["sandbox.creating", theirs.id]]);
    expect(await store().events.readOf(ours.teamId, from, 1)).toHaveLength(1);
    const back = async (filter = {}, before = Number.MAX_SAFE_INTEGER, limit = 10) =>
      (await store().events.readBackOf(ours.teamId, before, limit, filter)).map(({ action, targetId }) => [action, targetId]);
    for (const filter of [{ targetId: ours.id }, { action: "sandbox", targetId: ours.id }])
      expect(await back(filter)).toEqual([runs, made]);
    expect((await back({ action: "sandbox" })).slice(0, 2)).toEqual([runs, made]);
    expect((await back()).slice(0, 2)).toEqual([runs, made]);
    expect(await back({ action: "sandbox" }, from + 3, 1)).toEqual([made]);
    expect(await back({ action: "sandbox.running" }, Number.MAX_SAFE_INTEGER, 1)).toEqual([runs]);
    expect([await back({ action: "key" }), await back({ targetId: theirs.id })]).toEqual([[], []]);
  });
}
