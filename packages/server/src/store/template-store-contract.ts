import { expect, test } from "bun:test";
import { newBuildId, newTemplateId } from "@boxyard/core";
import type { BuildLogLine, BuildRecord, TemplateSpec } from "./records.ts";
import type { Store } from "./store.ts";

const RESOURCES = { cpuCount: 2, memoryMB: 1024, diskMB: 10240 };
const SPEC: TemplateSpec = {
  image: { digest: "sha256:aa", layers: ["sha256:bb"] },
  ...RESOURCES,
  env: { A: "1" },
  user: "user",
  workdir: "/home/user",
  startCmd: "serve",
};

async function withTemplate(store: Store, name?: string) {
  const teamId = await store.ensureTeam("default", "Default");
  const template = await store.templates.add({ id: newTemplateId(), teamId, now: 5, ...(name === undefined ? {} : { name }) });
  return { teamId, template, templates: store.templates };
}

function buildOf(templateId: BuildRecord["templateId"], change: Partial<BuildRecord> = {}): BuildRecord {
  return {
    id: newBuildId(),
    templateId,
    status: "waiting",
    tags: ["default"],
    resources: RESOURCES,
    createdAt: 7,
    updatedAt: 7,
    ...change,
  };
}

/** The part of `storeContract` about templates. */
export function templateStoreContract(current: () => Store): void {
  namesAndBuilds(current);
  tagHistory(current);
  untagged(current);
  logsAndCache(current);
}

function namesAndBuilds(current: () => Store): void {
  test("has one template per team and name, and any number without a name", async () => {
    const { teamId, template, templates } = await withTemplate(current(), "web");
    expect(template).toMatchObject({ name: "web", namespace: "default", isPublic: false, spawnCount: 0, createdAt: 5 });
    expect(await templates.add({ id: newTemplateId(), teamId, name: "web", now: 6 })).toEqual(template);
    const one = await templates.add({ id: newTemplateId(), teamId, now: 6 });
    const two = await templates.add({ id: newTemplateId(), teamId, now: 6 });
    expect(new Set([template.id, one.id, two.id]).size).toBe(3);
    expect("name" in one).toBe(false);
    await templates.setPublic(one.id, true, 9);
    await templates.countSpawn(one.id, 11);
    const changed = (await templates.list()).find(({ id }) => id === one.id);
    expect(changed).toMatchObject({ isPublic: true, updatedAt: 9, spawnCount: 1, lastSpawnedAt: 11 });
  });

  test("changes a build only from the statuses named, and gives it back as it is", async () => {
    const { template, templates } = await withTemplate(current(), "web");
    const build = buildOf(template.id);
    await templates.addBuild(build);
    expect(await templates.getBuild(build.id)).toEqual(build);
    expect(await templates.updateBuild(build.id, ["building"], { status: "ready" })).toBe(false);
    expect(await templates.updateBuild(build.id, ["waiting"], { status: "building", startedAt: 8 })).toBe(true);
    const reason = { message: "no", step: "2" };
    await templates.updateBuild(build.id, ["building"], { status: "error", reason, finishedAt: 9, updatedAt: 9, spec: SPEC });
    const ended = { ...build, status: "error" as const, startedAt: 8, finishedAt: 9, updatedAt: 9, reason, spec: SPEC };
    expect(await templates.listBuilds(template.id)).toEqual([ended]);
    expect(await templates.listBuildsIn(["waiting", "building"])).toEqual([]);
    expect(await templates.listSpecs()).toEqual([]);
    await templates.assignTags(template.id, ["a", "b"], build.id, 9);
    expect(await templates.listSpecs()).toEqual([SPEC]);
    expect(await templates.getBuild(newBuildId())).toBeUndefined();
  });

  test("a tag is listed once its build has a spec; the newest assignment wins", async () => {
    const { template, templates } = await withTemplate(current(), "web");
    const [old, young] = [buildOf(template.id, { status: "ready", spec: SPEC }), buildOf(template.id)];
    await templates.addBuild(old);
    await templates.addBuild(young);
    await templates.assignTags(template.id, ["default", "v1"], old.id, 10);
    expect((await templates.listVersions()).map(({ tag, buildId }) => [tag, buildId])).toEqual([
      ["default", old.id],
      ["v1", old.id],
    ]);
    await templates.updateBuild(young.id, ["waiting"], { status: "ready", spec: SPEC });
    await templates.assignTags(template.id, ["default"], young.id, 12);
    await templates.removeTags(template.id, ["v1", "v2"], 13);
    expect((await templates.listVersions()).map(({ tag, buildId, assignedAt }) => [tag, buildId, assignedAt])).toEqual([
      ["default", young.id, 12],
    ]);
  });
}

function untagged(current: () => Store): void {
  test("keeps a build that has lost its last tag like a cached result, until that is pruned", async () => {
    const { template, templates } = await withTemplate(current(), "untagged");
    const [one, two, three] = [0, 1, 2].map(() => buildOf(template.id, { status: "ready", spec: SPEC })) as [
      BuildRecord,
      BuildRecord,
      BuildRecord,
    ];
    for (const build of [one, two, three]) await templates.addBuild(build);
    const untagged = async () => (await templates.listUntagged()).map(({ buildId, tag, spec }) => [buildId, tag, spec]);
    await templates.assignTags(template.id, ["default", "v1"], one.id, 10);
    await templates.assignTags(template.id, ["default"], two.id, 20);
    expect(await untagged()).toEqual([]);
    await templates.removeTags(template.id, ["v1"], 30);
    expect(await untagged()).toEqual([[one.id, one.id, SPEC]]);
    await templates.assignTags(template.id, ["default"], three.id, 40);
    expect((await untagged()).map(([id]) => id).sort()).toEqual([one.id, two.id].sort());
    expect((await templates.listCached()).map(({ key }) => key)).toEqual([`build:${two.id}`, `build:${one.id}`]);
    // A tag makes the build a version again. When the tag is removed, the time of the last use is a new one.
    await templates.assignTags(template.id, ["v2"], one.id, 50);
    expect((await untagged()).map(([id]) => id)).toEqual([two.id]);
    await templates.removeTags(template.id, ["v2"], 60);
    await templates.pruneCached(50);
    expect((await untagged()).map(([id]) => id)).toEqual([one.id]);
    await templates.useUntagged(one.id, 70);
    await templates.pruneCached(65);
    expect((await untagged()).map(([id]) => id)).toEqual([one.id]);
    // A snapshot ends with its tags.
    const snapshot = buildOf(template.id, {
      status: "ready",
      spec: { ...SPEC, snapshot: { id: "s", memory: false, sandboxId: "i", sealedEnv: "" } as never },
    });
    await templates.addBuild(snapshot);
    await templates.assignTags(template.id, ["kept"], snapshot.id, 80);
    await templates.removeTags(template.id, ["kept"], 90);
    expect((await untagged()).map(([id]) => id)).toEqual([one.id]);
    await templates.remove(template.id);
    expect([await untagged(), await templates.listCached()]).toEqual([[], []]);
  });
}

function tagHistory(current: () => Store): void {
  test("lists the assignments of present tags to ready builds, newest first", async () => {
    const { template, templates } = await withTemplate(current(), "tagged");
    const [one, two] = [buildOf(template.id, { status: "ready", finishedAt: 9 }), buildOf(template.id, { status: "ready" })];
    const unfinished = buildOf(template.id, { status: "building" });
    for (const build of [one, two, unfinished]) await templates.addBuild(build);
    await templates.assignTags(template.id, ["a", "b"], one.id, 10);
    await templates.assignTags(template.id, ["a"], two.id, 11);
    await templates.assignTags(template.id, ["a"], one.id, 12);
    await templates.assignTags(template.id, ["b"], unfinished.id, 13);
    const seen = async () =>
      (await templates.listAssignments(template.id)).map(({ tag, buildId, assignedAt }) => [tag, buildId, assignedAt]);
    expect(await seen()).toEqual([
      ["a", one.id, 12],
      ["a", two.id, 11],
      ["a", one.id, 10],
      ["b", one.id, 10],
    ]);
    expect((await templates.listAssignments(template.id)).slice(0, 2)).toMatchObject([
      { buildCreatedAt: 7, buildFinishedAt: 9 },
      { buildCreatedAt: 7 },
    ]);
    await templates.removeTags(template.id, ["a"], 13);
    expect(await seen()).toEqual([["b", one.id, 10]]);
    await templates.assignTags(template.id, ["a"], two.id, 20);
    expect((await seen())[0]).toEqual(["a", two.id, 20]);
    await templates.remove(template.id);
    expect(await seen()).toEqual([]);
  });

  test("keeps a bounded number of assignments", async () => {
    const { template, templates } = await withTemplate(current(), "moved");
    const build = buildOf(template.id, { status: "ready" });
    await templates.addBuild(build);
    for (let at = 0; at < 210; at++) await templates.assignTags(template.id, ["a"], build.id, at);
    const seen = await templates.listAssignments(template.id);
    expect([seen.length, seen[0]?.assignedAt, seen.at(-1)?.assignedAt]).toEqual([200, 209, 10]);
  });
}

function logsAndCache(current: () => Store): void {
  test("keeps a build's log in order, and gives pages of it by place, level and time", async () => {
    const { template, templates } = await withTemplate(current());
    const build = buildOf(template.id);
    await templates.addBuild(build);
    const line = (at: number, message: string, level: BuildLogLine["level"] = "info"): BuildLogLine => ({ at, level, step: "1", message });
    const lines = [line(1, "a"), line(2, "b", "debug"), line(2, "c\0", "error"), line(3, "d", "warn")];
    await templates.addLogs(build.id, 0, lines.slice(0, 2));
    await templates.addLogs(build.id, 2, lines.slice(2));
    const read = async (offset: number, limit: number, minLevel: BuildLogLine["level"]) =>
      (await templates.readLogs(build.id, { offset, limit, minLevel })).map(({ message }) => message);
    expect(await read(0, 100, "debug")).toEqual(["a", "b", "c", "d"]);
    expect(await read(1, 2, "info")).toEqual(["c", "d"]);
    expect(await read(4, 100, "debug")).toEqual([]);
    const at = async (direction: "forward" | "backward", cursor?: number) =>
      (await templates.readLogsAt(build.id, { direction, limit: 2, minLevel: "debug", ...(cursor === undefined ? {} : { cursor }) })).map(
        (l) => l.message,
      );
    expect([await at("forward", 2), await at("backward"), await at("backward", 1)]).toEqual([["b", "c"], ["d", "c"], ["a"]]);
    expect((await templates.readLogs(build.id, { offset: 0, limit: 1, minLevel: "debug" }))[0]).toEqual(line(1, "a"));
  });

  test("removes old logs of builds that no tag points to", async () => {
    const { template, templates } = await withTemplate(current(), "logged");
    const kinds = { tagged: { finishedAt: 5 }, old: { finishedAt: 5 }, young: { finishedAt: 50 }, running: {} };
    const builds = Object.entries(kinds).map(([kind, more]) => ({
      kind,
      ...buildOf(template.id, { status: "ready", spec: SPEC, ...more }),
    }));
    for (const { kind, ...build } of builds) {
      await templates.addBuild(build);
      await templates.addLogs(build.id, 0, [{ at: 1, level: "info", message: kind }]);
    }
    await templates.assignTags(template.id, ["default"], builds[0]?.id ?? "", 1);
    await templates.pruneLogs(10);
    const logs = builds.map(({ id }) => templates.readLogs(id, { offset: 0, limit: 9, minLevel: "debug" }));
    expect((await Promise.all(logs)).flat().map(({ message }) => message)).toEqual(["tagged", "young", "running"]);
  });

  test("removes a template with its builds, tags and logs", async () => {
    const { template, templates } = await withTemplate(current(), "web");
    const build = buildOf(template.id, { status: "ready", spec: SPEC });
    await templates.addBuild(build);
    await templates.assignTags(template.id, ["default"], build.id, 1);
    await templates.addLogs(build.id, 0, [{ at: 1, level: "info", message: "x" }]);
    await templates.remove(template.id);
    await templates.remove(template.id);
    expect([await templates.list(), await templates.listVersions(), await templates.listBuilds(template.id)]).toEqual([[], [], []]);
    expect(await templates.readLogs(build.id, { offset: 0, limit: 9, minLevel: "debug" })).toEqual([]);
  });

  test("keeps results of steps until they are not used any more", async () => {
    const { templates } = current();
    expect(await templates.getCached("k", 1)).toBeUndefined();
    await templates.putCached("k", "one", 1);
    await templates.putCached("k", "two", 2);
    await templates.putCached("old", "three", 2);
    expect(await templates.getCached("k", 50)).toBe("two");
    await templates.pruneCached(10);
    expect(await templates.listCached()).toEqual([{ key: "k", result: "two" }]);
    await templates.putCached("newer", "four", 60);
    await templates.putCached("newest", "five", 61);
    expect((await templates.listCached()).map(({ key }) => key)).toEqual(["newest", "newer", "k"]);
    await templates.removeCached(["newer", "absent"]);
    await templates.removeCached([]);
    expect((await templates.listCached()).map(({ key }) => key)).toEqual(["newest", "k"]);
  });
}
