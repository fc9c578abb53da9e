import { expect } from "bun:test";
import type { TeamId } from "@boxyard/core";
import type { SQL } from "bun";
import { MIGRATIONS } from "./migrations.ts";
import { sampleRecord } from "./sample-record.ts";
import type { Store } from "./store.ts";

const NAME = "scopes of keys, access tokens, limits of teams";
const TEAM = "team" as TeamId;
const SPEC = {
  image: { digest: "sha256:aa", layers: ["sha256:bb"] },
  ...{ cpuCount: 2, memoryMB: 1024, diskMB: 10240, env: {}, user: "user", workdir: "/home/user" },
};

/** Makes a store as the last version before teams has left it, with data in it: there was one team, without limits, and keys without scopes. */
export async function makeStoreBeforeTeams(sql: SQL, node: string): Promise<void> {
  await sql.unsafe("CREATE TABLE migrations (version INTEGER PRIMARY KEY, name TEXT NOT NULL, applied_at BIGINT NOT NULL)");
  const index = MIGRATIONS.findIndex(({ name }) => name === NAME);
  for (const { version, name, statements } of MIGRATIONS.slice(0, index)) {
    for (const statement of statements) await sql.unsafe(statement);
    await sql`INSERT INTO migrations ${sql({ version, name, applied_at: 1 })}`;
  }
  await sql`INSERT INTO teams ${sql({ id: TEAM, slug: "default", name: "Default", created_at: 1 })}`;
  const key = { id: "k1", team_id: TEAM, name: "first", hash: "h1", hint: "e2b_12", created_at: 5, last_used_at: 6 };
  await sql`INSERT INTO api_keys ${sql(key)}`;
  await sql`INSERT INTO templates ${sql({ id: "web", team_id: TEAM, name: "web", public: 0, created_at: 2, updated_at: 2 })}`;
  const build = { id: "b1", template_id: "web", spec: JSON.stringify(SPEC), created_at: 3, status: "ready" };
  await sql`INSERT INTO template_builds ${sql(build)}`;
  await sql`INSERT INTO template_tags ${sql({ template_id: "web", tag: "default", build_id: "b1", created_at: 4 })}`;
  const { facts, settings } = sampleRecord();
  const times = { created_at: 10, started_at: 11, end_at: 99 };
  const box = {
    team_id: TEAM,
    template_id: "web",
    incarnation: 1,
    node,
    spec: JSON.stringify(facts),
    settings: JSON.stringify(settings),
    ...times,
  };
  await sql`INSERT INTO sandboxes ${sql({ ...box, id: "paused", state: "paused" })}`;
  await sql`INSERT INTO sandboxes ${sql({ ...box, id: "ended", state: "dead", ended_at: 50, reason: "timeout" })}`;
  const line = { sandbox_id: "paused", at: 12, place: 1, level: 1, message: "Sandbox paused", fields: "{}" };
  await sql`INSERT INTO sandbox_logs ${sql(line)}`;
  const volume = { id: "v1", team_id: TEAM, node, name: "data", state: "ready", size_bytes: 1024, created_at: 7 };
  await sql`INSERT INTO volumes ${sql(volume)}`;
  const from = (state: string) => ({ old_values: JSON.stringify({ state }) });
  const by = { at: 11, actor: "key:k1", team_id: TEAM };
  await sql`INSERT INTO events ${sql({ ...by, cursor: 1, action: "sandbox.running", target_id: "paused", ...from("creating") })}`;
  await sql`INSERT INTO events ${sql({ ...by, cursor: 2, action: "sandbox.pausing", target_id: "paused", ...from("running") })}`;
  await sql`INSERT INTO events ${sql({ ...by, cursor: 3, action: "sandbox.paused", target_id: "paused", ...from("pausing") })}`;
  await sql`INSERT INTO events ${sql({ ...by, cursor: 4, action: "sandbox.dead", target_id: "ended", ...from("killing") })}`;
  await sql`INSERT INTO events ${sql({ ...by, cursor: 5, action: "sandbox.dead", target_id: "removed long ago", ...from("killing") })}`;
  await sql`UPDATE event_counter SET last = 5`;
}

/** Checks that the store has everything of `makeStoreBeforeTeams`, as the team's, and that the key may do what it could. */
export async function expectTeamHasAll(store: Store): Promise<void> {
  expect(await store.teams.list()).toEqual([
    { id: TEAM, slug: "default", name: "Default", createdAt: 1, limits: {}, retention: {} },
  ] as never);
  const scopes = ["read", "sandboxes", "templates", "admin"] as const;
  const key = {
    id: "k1",
    teamId: TEAM,
    name: "first",
    kind: "key",
    scopes,
    hash: "h1",
    hint: "e2b_12",
    createdAt: 5,
    lastUsedAt: 6,
  } as const;
  expect(await store.keys.list()).toEqual([key]);
  expect((await store.templates.listVersions()).map(({ templateId, tag, spec }) => [templateId as string, tag, spec.image.digest])).toEqual(
    [["web", "default", "sha256:aa"]],
  );
  const { facts, settings } = sampleRecord();
  const paused = await store.getSandbox("paused" as never);
  expect(paused).toMatchObject({ teamId: TEAM, state: "paused", owner: { kind: "user" }, facts: { alias: facts.alias }, settings });
  expect([paused?.name, paused?.usage]).toEqual([undefined, undefined]);
  expect(await store.getSandbox("ended" as never)).toMatchObject({ state: "dead", endedAt: 50, reason: "timeout" });
  const log = await store.sandboxLogs.read("paused" as never, { direction: "forward", limit: 9, minLevel: "debug" });
  expect(log.map(({ message }) => message)).toEqual(["Sandbox paused"]);
  expect(await store.volumes.list()).toMatchObject([{ id: "v1", teamId: TEAM, name: "data" }]);
  const events = await store.events.readOf(TEAM, 0, 9, { action: "sandbox" });
  expect(events.map(({ cursor, targetId }) => [cursor, targetId])).toEqual([
    ...[1, 2, 3].map((cursor) => [cursor, "paused"]),
    [4, "ended"],
    [5, "removed long ago"],
  ]);
  const lives = await store.events.livesOf(TEAM, { offset: 0, limit: 9, oldestFirst: true });
  expect(lives.map(({ cursor }) => cursor)).toEqual([1, 3, 4]);
  // What is written now goes on behind what was there.
  expect(await store.teams.holdings(TEAM)).toMatchObject({ sandboxes: 1, templates: 1, volumes: 1 });
  await store.teams.add("second", "Second");
  expect(await store.events.newest()).toBe(6);
}
