import { Database } from "bun:sqlite";
import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from "node:fs";
import { basename, join } from "node:path";
import { eventually, makeSmallDisk, type SmallDisk } from "@boxyard/testkit";
import { writeServerFile } from "../server-file.ts";
import { TestServer } from "../testing/test-server.ts";
import { runningServer } from "../verbs/doctor.ts";

/** An ext4 of its own: a file that is made immutable there cannot be written by open descriptors either. */
let disk: SmallDisk;
const command = (...argv: string[]) => {
  const { exitCode, stderr } = Bun.spawnSync(argv);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
};
beforeAll(() => {
  disk = makeSmallDisk(32);
});
afterAll(() => disk.remove());

const storeFiles = (dataDir: string) =>
  readdirSync(dataDir)
    .filter((name) => name.startsWith("boxyard.db"))
    .map((name) => join(dataDir, name));

interface Left {
  readonly living: readonly string[];
  readonly ended: readonly string[];
  /** How many of those that ended are still living in the store. */
  readonly removed: number;
}

/** Stops the server, and checks what the next one on its data directory knows. */
async function expectNextServerToHave(s: TestServer, { living, ended, removed }: Left): Promise<void> {
  await s.stop();
  const next = await TestServer.start({ dataDir: s.config.dataDir, world: s.world });
  try {
    expect(next.server.adoption).toMatchObject({ adopted: living.length, removed, quarantined: 0 });
    for (const id of living) expect([id, (await next.call("GET", `/sandboxes/${id}`)).status]).toEqual([id, 200]);
    for (const id of ended) expect([id, (await next.call("GET", `/sandboxes/${id}`)).status]).toEqual([id, 404]);
  } finally {
    await next.stop();
  }
}

test("while the store takes no writes the server is degraded: what runs goes on and ends, nothing new is made, and it ends by itself", async () => {
  const dataDir = join(disk.path, "data");
  mkdirSync(dataDir);
  await using s = await TestServer.start({ dataDir });
  writeServerFile(dataDir, s.url, "test");
  const [kept, ended, expiring] = [await s.create(), await s.create(), await s.create({ timeout: 2 })];
  expect(await runningServer(dataDir)).toMatchObject({ status: "ok" });
  const files = storeFiles(dataDir);
  command("chattr", "+i", ...files);
  try {
    // The sweep notices the fault without a client's request.
    await s.server.sweep.once();
    const health = await fetch(`${s.url}/health`);
    expect([health.status, health.headers.get("Boxyard-Degraded")]).toEqual([200, "store_unavailable"]);
    expect(await health.text()).toMatch(/^Health check successful\nDegraded since .*disk I\/O error/);
    expect(await runningServer(dataDir)).toMatchObject({ status: "warn", found: expect.stringContaining("Degraded since") });
    for (let tries = 0; tries < 2; tries++) {
      const refused = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
      expect([refused.status, refused.body.error_code, refused.headers.get("Retry-After")]).toEqual([503, "store_unavailable", "1"]);
    }
    const refused = await s.call("POST", `/sandboxes/${kept.sandboxID}/timeout`, { timeout: 60 });
    expect([refused.status, refused.headers.get("Retry-After")]).toEqual([503, "1"]);
    expect((await s.call("POST", `/sandboxes/${kept.sandboxID}/pause`)).status).toBe(503);
    expect((await s.call("GET", `/sandboxes/${kept.sandboxID}`)).body.state).toBe("running");
    const agent = await fetch(`${s.url}/health`, { headers: { "E2b-Sandbox-Id": kept.sandboxID, "E2b-Sandbox-Port": "49983" } });
    expect(agent.status).toBe(204);
    expect((await s.call("DELETE", `/sandboxes/${ended.sandboxID}`)).status).toBe(204);
    expect((await s.call("GET", `/sandboxes/${ended.sandboxID}`)).status).toBe(404);
    await eventually("the one whose time came has ended", () => !s.world.sandboxes.has(expiring.sandboxID));
    expect([...s.world.sandboxes.keys()]).toEqual([kept.sandboxID]);
  } finally {
    command("chattr", "-i", ...files);
  }
  await s.server.sweep.once();
  expect(await (await fetch(`${s.url}/health`)).text()).toBe("Health check successful");
  expect(await runningServer(dataDir)).toMatchObject({ status: "ok" });
  const { sandboxID: made } = await s.create();
  for (const live of s.server.engine.sandboxes.all()) live.retryAt = 0;
  await s.server.sweep.once();
  await expectNextServerToHave(s, { living: [kept.sandboxID, made], ended: [ended.sandboxID, expiring.sandboxID], removed: 0 });
}, 60_000);

test("a store whose file is deleted is noticed: what runs goes on and ends, nothing new is made, and the next server has everything", async () => {
  const dataDir = join(disk.path, "deleted");
  mkdirSync(dataDir);
  await using s = await TestServer.start({ dataDir });
  writeServerFile(dataDir, s.url, "test");
  const [kept, ended] = [await s.create(), await s.create()];
  const file = join(dataDir, "boxyard.db");
  rmSync(file);
  // Noticed by the first change, before a round of the sweep.
  const refused = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
  expect([refused.status, refused.body.error_code, refused.headers.get("Retry-After")]).toEqual([503, "store_lost", "1"]);
  await s.server.sweep.once();
  const health = await fetch(`${s.url}/health`);
  expect([health.status, health.headers.get("Boxyard-Degraded")]).toEqual([200, "store_lost"]);
  expect(await runningServer(dataDir)).toMatchObject({
    status: "warn",
    found: expect.stringContaining("was deleted while the server runs"),
  });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect((await s.call("DELETE", `/sandboxes/${ended.sandboxID}`)).status).toBe(204);
  expect((await s.call("GET", `/sandboxes/${kept.sandboxID}`)).body.state).toBe("running");
  await expectNextServerToHave(s, { living: [kept.sandboxID], ended: [ended.sandboxID], removed: 1 });
}, 60_000);

test("a store whose file is moved away and back is whole again by itself", async () => {
  const dataDir = join(disk.path, "moved");
  mkdirSync(dataDir);
  await using s = await TestServer.start({ dataDir });
  const file = join(dataDir, "boxyard.db");
  renameSync(file, `${file}.away`);
  await s.server.sweep.once();
  expect((await fetch(`${s.url}/health`)).headers.get("Boxyard-Degraded")).toBe("store_lost");
  renameSync(`${file}.away`, file);
  await s.server.sweep.once();
  expect((await fetch(`${s.url}/health`)).headers.has("Boxyard-Degraded")).toBe(false);
  const { sandboxID } = await s.create();
  // The files that a server which is killed now would leave.
  const left = join(disk.path, "left");
  mkdirSync(left);
  for (const path of storeFiles(dataDir)) copyFileSync(path, join(left, basename(path)));
  using database = new Database(join(left, "boxyard.db"));
  expect(database.query("SELECT id FROM sandboxes").all()).toEqual([{ id: sandboxID }]);
}, 60_000);
