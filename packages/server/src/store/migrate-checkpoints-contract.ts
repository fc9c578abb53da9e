import { expect } from "bun:test";
import type { SQL } from "bun";
import { MIGRATIONS } from "./migrations.ts";
import type { Store } from "./store.ts";

/** The schema of before there were checkpoints. */
const EARLIER = 10;

const SPEC = {
  image: { digest: "sha256:aa", layers: ["sha256:bb"] },
  ...{ cpuCount: 2, memoryMB: 1024, diskMB: 10240 },
  env: { snapshot: "no", started: "no" },
  ...{ user: "user", workdir: "/home/user" },
};
const snapshotOf = (id: string, memory = true) => ({ ...SPEC, snapshot: { id, memory, sandboxId: "source", sealedEnv: `env of ${id}` } });

/** Builds of a store of the earlier schema: the template, the spec, and the tags that point to the build. */
const BUILDS = [
  { id: "b1", of: "ready", spec: snapshotOf("s1"), tags: ["default", "v1"] },
  { id: "b2", of: "ready", spec: snapshotOf("s2", false), tags: ["v2"] },
  { id: "b3", of: "unnamed", spec: snapshotOf("s3"), tags: ["default"] },
  { id: "b4", of: "ready", spec: snapshotOf("replaced"), tags: [] },
  { id: "b5", of: "web", spec: { ...SPEC, startCmd: "serve", started: "s5" }, tags: ["default"] },
  { id: "b6", of: "web", spec: SPEC, tags: ["v1"] },
] as const;

/** Makes a store as the version before checkpoints has left it. */
export async function makeEarlierStore(sql: SQL): Promise<void> {
  await sql.unsafe("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
  for (const { version, name, statements } of MIGRATIONS.filter((one) => one.version <= EARLIER)) {
    for (const statement of statements) await sql.unsafe(statement);
    await sql`INSERT INTO migrations ${sql({ version, name, applied_at: 1 })}`;
  }
  await sql`INSERT INTO teams ${sql({ id: "team", slug: "default", name: "Default", created_at: 1 })}`;
  for (const of of ["ready", "unnamed", "web"]) {
    const name = of === "unnamed" ? null : of;
    await sql`INSERT INTO templates ${sql({ id: of, team_id: "team", name, public: 0, created_at: 1, updated_at: 1 })}`;
  }
  for (const [i, { id, of, spec, tags }] of BUILDS.entries()) {
    const build = { id, template_id: of, spec: JSON.stringify(spec), created_at: 10 + i, status: "ready" };
    await sql`INSERT INTO template_builds ${sql(build)}`;
    for (const tag of tags) await sql`INSERT INTO template_tags ${sql({ template_id: of, tag, build_id: id, created_at: 20 })}`;
  }
}

/** Checks that a store finds what `makeEarlierStore` has left, and that the references work. */
export async function expectAdopted(store: Store): Promise<void> {
  const versions = await store.templates.listVersions();
  const tagged = BUILDS.flatMap(({ id, spec, tags }) => tags.map((tag) => ({ buildId: id, tag, spec })));
  expect(versions.map(({ buildId, tag, spec }) => ({ buildId, tag, spec }))).toEqual(tagged as never);
  expect((await store.templates.list()).map(({ id, kind }) => [id as string, kind])).toEqual([
    ["ready", "snapshot"],
    ["unnamed", "snapshot"],
    ["web", "template"],
  ]);
  const kept = await Promise.all(["s1", "s2", "s3", "s5", "replaced"].map((id) => store.checkpoints.find(id)));
  const common = { teamId: "team", state: "committed", references: 1 };
  const ofSource = { ...common, sandboxId: "source" };
  expect(kept).toEqual([
    { ...ofSource, id: "s1", reference: "s1", sequence: 1, memory: true, name: "ready", tag: "default", createdAt: 10 },
    { ...ofSource, id: "s2", reference: "s2", sequence: 2, memory: false, name: "ready", tag: "v2", createdAt: 11 },
    { ...ofSource, id: "s3", reference: "s3", sequence: 3, memory: true, tag: "default", createdAt: 12 },
    { ...common, id: "s5", reference: "s5", sequence: 1, memory: true, name: "web", tag: "default", createdAt: 14 },
    undefined,
  ] as never);
  expect(await store.checkpoints.listUnused()).toEqual([]);
  await store.templates.remove("ready" as never);
  await store.templates.assignTags("web" as never, ["default"], "b6", 30);
  expect((await store.checkpoints.listUnused()).map(({ id }) => id)).toEqual(["s1", "s2", "s5"]);
}
