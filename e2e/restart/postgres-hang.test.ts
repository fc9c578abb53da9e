import { afterAll, beforeAll, expect, test } from "bun:test";
import { bootPlatform, eventually, type Platform, startPostgres, type TestPostgres } from "@boxyard/testkit";
import { keptSandboxes } from "../support/ours.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

/** As with any part that never answers (`../faults/hangs.test.ts`): each verb is answered in time, nothing is lost, and the same works afterwards. */
let postgres: TestPostgres;
let platform: Platform;
beforeAll(async () => {
  postgres = await startPostgres();
  platform = await bootPlatform({ env: { DATABASE_URL: await postgres.database() } });
}, 60_000);
afterAll(async () => {
  await platform?.[Symbol.asyncDispose]();
  await postgres?.[Symbol.asyncDispose]();
}, 60_000);

const LIMIT_MS = 30_000;
const inTime = <T>(work: Promise<T>): Promise<T | "no answer"> =>
  Promise.race([work, new Promise<"no answer">((resolve) => setTimeout(resolve, LIMIT_MS, "no answer").unref())]);
/** The status, and whether the client is told to try again. */
const call = (method: string, path: string, body?: object) =>
  inTime(
    platform
      .api({ method, path, ...(body && { body }) })
      .then(({ status, headers }) => (status === 503 ? `503, ${headers.has("Retry-After") ? "again" : "never"}` : status)),
  );
const stateOf = async ({ id }: HeldSandbox) => ((await platform.api({ path: `/sandboxes/${id}` })).body as { state: string }).state;

test("while the database hangs each verb is answered in time, and nothing is lost", async () => {
  const [paused, pausing, captured, forked, used] = (await Promise.all(Array.from({ length: 5 }, () => createSandbox(platform)))) as [
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
    HeldSandbox,
  ];
  const all = [paused, pausing, captured, forked, used];
  for (const [i, sandbox] of all.entries()) await sandbox.asRoot(`echo ${i} > /root/mine`);
  expect(await paused.client.pause()).toBe(true);
  postgres.hang();
  try {
    const answers = await Promise.all([
      call("GET", "/v2/sandboxes"),
      call("GET", `/sandboxes/${used.id}`),
      inTime(used.asRoot("echo on").then(({ stdout }) => stdout)),
      call("POST", "/v2/sandboxes", { templateID: "base" }),
      call("POST", `/v2/sandboxes/${paused.id}/connect`, { timeout: 600 }),
      call("POST", `/sandboxes/${pausing.id}/pause`, {}),
      call("POST", `/sandboxes/${captured.id}/snapshots`, {}),
      call("POST", `/sandboxes/${forked.id}/fork`, { count: 1 }),
      call("POST", `/sandboxes/${used.id}/timeout`, { timeout: 600 }),
      call("PUT", `/sandboxes/${captured.id}/network`, { denyOut: ["192.0.2.1"] }),
      call("POST", "/v3/templates", { name: "hang" }),
      call("POST", "/api-keys", { name: "hang" }),
    ]);
    const again = "503, again";
    expect(answers).toEqual([200, 200, "on\n", again, again, again, again, again, again, again, again, again]);
    expect([await stateOf(paused), await stateOf(pausing)]).toEqual(["paused", "running"]);
  } finally {
    postgres.proceed();
  }
  await eventually("changes are taken again", async () => (await call("POST", `/sandboxes/${used.id}/timeout`, { timeout: 600 })) === 204, {
    withinMs: 30_000,
  });
  const ids = all.map(({ id }) => id).sort();
  await eventually("nothing else is left", () => [...new Set(keptSandboxes(platform))].sort().join() === ids.join(), { withinMs: 30_000 });
  for (const [i, sandbox] of all.entries()) {
    await sandbox.client.connect();
    expect((await sandbox.asRoot("cat /root/mine")).stdout).toBe(`${i}\n`);
    expect(await sandbox.client.pause()).toBe(true);
    await sandbox.client.connect();
    await sandbox.client.kill();
  }
}, 180_000);
