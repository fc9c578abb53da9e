import { expect, test } from "bun:test";
import { newBuildId, newTemplateId, type SandboxId } from "@boxyard/core";
import type { NewCheckpoint } from "./checkpoint-rows.ts";
import type { BuildRecord, SandboxRecord, TemplateSpec } from "./records.ts";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

const RESOURCES = { cpuCount: 2, memoryMB: 1024, diskMB: 10240 };
const SPEC: TemplateSpec = {
  image: { digest: "sha256:aa", layers: ["sha256:bb"] },
  ...RESOURCES,
  env: {},
  user: "user",
  workdir: "/home/user",
};

/** The part of `storeContract` about checkpoints. `reopen` opens the store for another node. */
export function checkpointRowsContract(current: () => Store, reopen: (node: string) => Promise<Store>): void {
  states(current);
  parents(current);
  references(current);
  nodes(current, reopen);
}

/** Inserts a running sandbox; `begin` makes checkpoints of it. */
async function subject(store: Store, change: Partial<SandboxRecord> = {}) {
  const teamId = await store.ensureTeam("default", "Default");
  const record = sampleRecord({ teamId, state: "running", ...change });
  await store.insertSandbox(record);
  const begin = async (id: string, more: Partial<NewCheckpoint> = {}) => {
    await store.checkpoints.begin({ id, teamId, sandboxId: record.id, memory: true, createdAt: 5, ...more });
    return id;
  };
  /** As the transition does it. */
  const make = async (id: string, more: Partial<NewCheckpoint> = {}) => {
    await begin(id, more);
    await store.checkpoints.commit(id, 7);
    await store.updateSandbox(record.id, ["running"], { checkpointId: id });
    return id;
  };
  return { teamId, record, begin, make };
}

/** Removes a checkpoint as the keeper does. */
async function removed(store: Store, id: string): Promise<boolean> {
  const may = await store.checkpoints.markRemoving(id);
  await store.checkpoints.remove(id);
  return may;
}

function states(current: () => Store): void {
  test("has a checkpoint from before its capture until after its removal, with an event of its commit and of its removal", async () => {
    const { teamId, record, begin } = await subject(current());
    const { checkpoints, events } = current();
    const from = await events.newest();
    await begin("c1", { name: "ready", tag: "v1", memory: false });
    const made = { teamId, sandboxId: record.id, sequence: 1, memory: false, reference: "c1", name: "ready", tag: "v1", createdAt: 5 };
    const active = { id: "c1", ...made, state: "active" as const, references: 0 };
    expect([await checkpoints.find("c1"), await checkpoints.listUnused()]).toEqual([active, [active]]);
    expect([await checkpoints.commit("c1", 12), await checkpoints.commit("c1", 13), await checkpoints.commit("c2", 1)]).toEqual([
      true,
      false,
      false,
    ]);
    expect(await checkpoints.find("c1")).toEqual({ ...active, state: "committed", bytes: 12 });
    await begin("c3");
    expect([await checkpoints.bytesOf(["c1", "c3", "none"]), await checkpoints.bytesOf([])]).toEqual([new Map([["c1", 12]]), new Map()]);
    // A row is removed only after it was marked.
    await checkpoints.remove("c1");
    expect(await removed(current(), "c1")).toBe(true);
    expect([await checkpoints.find("c1"), await removed(current(), "c1")]).toEqual([undefined, false]);
    expect((await events.read(from, 10)).map(({ action, targetId }) => [action, targetId])).toEqual([
      ["checkpoint.committed", "c1"],
      ["checkpoint.removed", "c1"],
    ]);
  });

  test("refuses a second checkpoint of the same id", async () => {
    const { begin } = await subject(current());
    await begin("c1");
    await expect(begin("c1")).rejects.toThrow();
  });
}

function parents(current: () => Store): void {
  const chain = async (id: string) => (await current().checkpoints.parents(id)).map((one) => one.id);

  test("makes the sandbox's last checkpoint the parent of its next one, or the one that it was made from or rolled back to", async () => {
    const { record, make } = await subject(current());
    for (const id of ["c1", "c2", "c3"]) await make(id);
    expect([await chain("c3"), await chain("c1"), await chain("none")]).toEqual([["c2", "c1"], [], []]);
    expect((await current().checkpoints.ofSandbox(record.id)).map(({ id, sequence }) => [id, sequence])).toEqual([
      ["c1", 1],
      ["c2", 2],
      ["c3", 3],
    ]);
    await current().updateSandbox(record.id, ["running"], { checkpointId: "c1" });
    await make("c4");
    expect(await chain("c4")).toEqual(["c1"]);
    const clone = await subject(current(), { checkpointId: "c3" });
    expect((await current().getSandbox(clone.record.id))?.checkpointId).toBe("c3");
    await clone.make("d1");
    expect(await chain("d1")).toEqual(["c3", "c2", "c1"]);
  });

  test("gives the children of a removed checkpoint its parent, and its sandboxes too", async () => {
    const { record, make } = await subject(current());
    for (const id of ["c1", "c2", "c3"]) await make(id);
    const clone = await subject(current(), { checkpointId: "c2" });
    await removed(current(), "c2");
    expect([await chain("c3"), (await current().getSandbox(clone.record.id))?.checkpointId]).toEqual([["c1"], "c1"]);
    await removed(current(), "c1");
    expect([await chain("c3"), (await current().getSandbox(clone.record.id))?.checkpointId]).toEqual([[], undefined]);
    await removed(current(), "c3");
    await make("c4");
    expect(await current().checkpoints.ofSandbox(record.id)).toMatchObject([{ id: "c4", sequence: 1 }]);
  });
}

async function withTemplate(store: Store, name: string, kind: "template" | "snapshot") {
  const teamId = await store.ensureTeam("default", "Default");
  const template = await store.templates.add({ id: newTemplateId(), teamId, name, kind, now: 5 });
  const build = async (spec: TemplateSpec): Promise<BuildRecord> => {
    const common = { status: "ready" as const, tags: ["default"], resources: RESOURCES, createdAt: 7, updatedAt: 7 };
    const made = { id: newBuildId(), templateId: template.id, ...common, spec };
    await store.templates.addBuild(made);
    return made;
  };
  return { template, build };
}

const ofSnapshot = (id: string): TemplateSpec => ({
  ...SPEC,
  snapshot: { id, memory: true, sandboxId: "i" as SandboxId, sealedEnv: "" },
});

function references(current: () => Store): void {
  const unused = async () => (await current().checkpoints.listUnused()).map(({ id }) => id);
  const count = async (id: string) => (await current().checkpoints.find(id))?.references;

  test("counts the builds with a tag that begin with a checkpoint", async () => {
    const { make } = await subject(current());
    for (const id of ["c1", "c2"]) await make(id);
    const { templates } = current();
    const { template, build } = await withTemplate(current(), "ready", "snapshot");
    const [one, two] = [await build(ofSnapshot("c1")), await build(ofSnapshot("c2"))];
    expect(await unused()).toEqual(["c1", "c2"]);
    await templates.assignTags(template.id, ["default", "v1"], one.id, 8);
    await templates.assignTags(template.id, ["v2"], one.id, 8);
    expect([await count("c1"), await unused(), await current().checkpoints.markRemoving("c1")]).toEqual([1, ["c2"], false]);
    await templates.assignTags(template.id, ["default"], two.id, 9);
    await templates.removeTags(template.id, ["v1"], 9);
    expect([await count("c1"), await count("c2")]).toEqual([1, 1]);
    await templates.removeTags(template.id, ["v2", "v3"], 9);
    await templates.removeTags(template.id, ["v2"], 9);
    expect([await count("c1"), await unused()]).toEqual([0, ["c1"]]);
    await templates.remove(template.id);
    await templates.remove(template.id);
    expect(await unused()).toEqual(["c1", "c2"]);
  });

  test("counts the memory that a build has kept, and lets a build go on without it", async () => {
    const { make } = await subject(current());
    await make("c1");
    const { templates } = current();
    const { template, build } = await withTemplate(current(), "web", "template");
    const [plain, started] = [await build(SPEC), await build(SPEC)];
    await templates.updateBuild(started.id, ["ready"], { spec: { ...SPEC, started: "c1" } });
    await templates.assignTags(template.id, ["default"], started.id, 8);
    expect(await count("c1")).toBe(1);
    await templates.assignTags(template.id, ["default"], plain.id, 9);
    expect([await count("c1"), await removed(current(), "c1")]).toEqual([0, true]);
    await templates.assignTags(template.id, ["default"], started.id, 10);
    expect((await templates.find(template.id))?.versions[0]?.buildId).toBe(started.id);
  });

  test("refuses a tag of a snapshot that is being removed, and changes nothing", async () => {
    const { make } = await subject(current());
    await make("c1");
    const { template, build } = await withTemplate(current(), "ready", "snapshot");
    const { id } = await build(ofSnapshot("c1"));
    await current().checkpoints.markRemoving("c1");
    await expect(current().templates.assignTags(template.id, ["default"], id, 8)).rejects.toMatchObject({ reason: "snapshot_not_found" });
    expect([(await current().templates.find(template.id))?.versions, await count("c1")]).toEqual([[], 0]);
  });

  test("counts operations, each once", async () => {
    const { make } = await subject(current());
    await make("c1");
    const { checkpoints } = current();
    const [one, two] = [
      { kind: "operation", id: "1" },
      { kind: "operation", id: "2" },
    ] as const;
    for (const holder of [one, one, two]) expect(await checkpoints.refer("c1", holder)).toBe(true);
    expect([await count("c1"), await checkpoints.refer("none", one)]).toEqual([2, false]);
    for (const holder of [one, one]) await checkpoints.release(holder);
    expect(await count("c1")).toBe(1);
    await checkpoints.release(two);
    expect(await unused()).toEqual(["c1"]);
  });

  test("keeps the names of snapshots and of templates apart", async () => {
    const teamId = await current().ensureTeam("default", "Default");
    const { template } = await withTemplate(current(), "ready", "snapshot");
    const add = (kind: "template" | "snapshot") => current().templates.add({ id: newTemplateId(), teamId, name: "ready", kind, now: 6 });
    expect(await add("snapshot")).toEqual(template);
    await expect(add("template")).rejects.toMatchObject({ code: "already_exists", reason: "name_taken" });
    await withTemplate(current(), "web", "template");
    expect((await current().templates.list()).map(({ name, kind }) => [name, kind]).sort()).toEqual([
      ["ready", "snapshot"],
      ["web", "template"],
    ]);
  });
}

function nodes(current: () => Store, reopen: (node: string) => Promise<Store>): void {
  test("shows checkpoints of its own node, and takes over those that its driver has", async () => {
    const { begin } = await subject(current());
    for (const id of ["c1", "c2"]) await begin(id);
    const elsewhere = await reopen("elsewhere");
    expect([await elsewhere.checkpoints.listUnused(), await elsewhere.checkpoints.find("c1")]).toEqual([[], undefined]);
    expect(await elsewhere.checkpoints.takeOver(["c1", "unknown"])).toEqual(new Set(["c1"]));
    expect((await elsewhere.checkpoints.listUnused()).map(({ id }) => id)).toEqual(["c1"]);
    expect(await elsewhere.checkpoints.takeOver([])).toEqual(new Set());
  });
}
