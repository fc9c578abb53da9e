import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFile, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres, type TestPostgres } from "@boxyard/testkit";
import { STORE_KEY_FILE } from "../store/store-key.ts";
import { TestServer } from "../testing/test-server.ts";

let postgres: TestPostgres;
beforeAll(async () => {
  postgres = await startPostgres();
}, 60_000);
afterAll(() => postgres?.[Symbol.asyncDispose]());

test("a server on another data directory neither works on the same database at once, nor ends sandboxes that it does not have", async () => {
  const env = { DATABASE_URL: await postgres.database() };
  const first = await TestServer.start({ env });
  const { sandboxID } = await first.create();
  // Servers that take turns on a database share the key of its secrets.
  const otherDirectory = await mkdtemp(join(tmpdir(), "boxyard-other-"));
  await copyFile(join(first.config.dataDir, STORE_KEY_FILE), join(otherDirectory, STORE_KEY_FILE));
  await expect(TestServer.start({ env, dataDir: otherDirectory })).rejects.toMatchObject({
    reason: "store_in_use",
    message: expect.stringContaining(first.config.dataDir),
  });
  await first.stop();

  const second = await TestServer.start({ env, dataDir: otherDirectory });
  try {
    expect(second.server.adoption).toMatchObject({ adopted: 0, removed: 0 });
    expect((await second.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  } finally {
    await second[Symbol.asyncDispose]();
  }

  const { world, config } = first;
  await using again = await TestServer.start({ env, world, dataDir: config.dataDir });
  expect(again.server.adoption).toMatchObject({ adopted: 1, removed: 0 });
  expect((await again.call("GET", `/sandboxes/${sandboxID}`)).body).toMatchObject({ sandboxID, state: "running" });
}, 30_000);

test("a data directory that has lost its id adopts the sandboxes that its machine has, and no others", async () => {
  const env = { DATABASE_URL: await postgres.database() };
  const first = await TestServer.start({ env });
  const { sandboxID } = await first.create();
  await first.stop();
  await rm(`${first.config.dataDir}/node-id`);
  await using again = await TestServer.start({ env, world: first.world, dataDir: first.config.dataDir });
  expect(again.server.adoption).toMatchObject({ adopted: 1, removed: 0, quarantined: 0 });
  expect((await again.call("GET", `/sandboxes/${sandboxID}`)).body).toMatchObject({ sandboxID, state: "running" });
});
