import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readConfig } from "../config.ts";
import { nodeIdOf } from "../node-id.ts";
import { openStore } from "../open-store.ts";
import { lockDataDir } from "../server-file.ts";
import { TestServer } from "../testing/test-server.ts";

/** A small disk of its own. */
let disk: string;
const mount = (...argv: string[]) => {
  const { exitCode, stderr } = Bun.spawnSync(argv);
  if (exitCode !== 0) throw new Error(`${argv.join(" ")}: ${stderr.toString()}`);
};
beforeAll(() => {
  disk = mkdtempSync(join(tmpdir(), "boxyard-full-"));
  mount("mount", "-t", "tmpfs", "-o", "size=8m", "boxyard-test", disk);
});
afterAll(() => {
  mount("umount", disk);
  rmSync(disk, { recursive: true });
});

const ballast = () => join(disk, "ballast");

function fill(): void {
  const { bavail, bsize } = statfsSync(disk);
  writeFileSync(ballast(), Buffer.alloc(bavail * bsize));
}

test("on a full disk creates are refused and leave nothing, sandboxes can be killed, and the server recovers when there is room again", async () => {
  const dataDir = join(disk, "data");
  mkdirSync(dataDir);
  await using s = await TestServer.start({ dataDir });
  const [kept, ended] = [await s.create(), await s.create()];
  fill();
  // Creates succeed as long as the write-ahead log has room.
  let refused = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
  for (let tries = 0; refused.status === 201 && tries < 500; tries++) {
    refused = await s.call("POST", "/v2/sandboxes", { templateID: "base" });
  }
  expect(refused.status).toBe(503);
  expect(refused.body).toMatchObject({ code: 503, error_code: "store_full", message: expect.stringContaining("no room left") });
  const before = s.world.sandboxes.size;
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(503);
  expect(s.world.sandboxes.size).toBe(before);
  // Reading goes on, and so does what runs.
  expect((await s.call("GET", `/sandboxes/${kept.sandboxID}`)).status).toBe(200);
  // The sandbox is removed, and the answer says so; the sweep writes that when the store takes writes again.
  expect((await s.call("DELETE", `/sandboxes/${ended.sandboxID}`)).status).toBe(204);
  expect(s.world.sandboxes.has(ended.sandboxID)).toBe(false);
  expect((await s.call("GET", `/sandboxes/${ended.sandboxID}`)).status).toBe(404);
  rmSync(ballast());
  const { sandboxID } = await s.create();
  const { sandboxes } = s.server.engine;
  for (const live of sandboxes.all()) live.retryAt = 0;
  await s.server.sweep.once();
  expect(sandboxes.all().filter(({ state }) => state !== "running")).toEqual([]);
  await s.stop();
  const again = await TestServer.start({ dataDir, world: s.world });
  expect(again.server.adoption.removed).toBe(0);
  expect((await again.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(200);
  await again.stop();
}, 60_000);

test("a store is not opened on a full disk, and the error names the file", async () => {
  const dataDir = join(disk, "other");
  nodeIdOf(dataDir);
  fill();
  try {
    await expect(openStore(readConfig({ BOXYARD_DATA: dataDir }))).rejects.toMatchObject({
      reason: "store_full",
      message: `The store's key ${dataDir}/store-key can't be written: there is no room left on its disk; make some`,
    });
  } finally {
    rmSync(ballast());
  }
});

test("the lock of a data directory can be taken on a full disk", () => {
  const dataDir = join(disk, "locked");
  mkdirSync(dataDir);
  fill();
  const lock = lockDataDir(dataDir);
  expect(() => lockDataDir(dataDir)).toThrow("Another server is working on");
  lock.release();
  rmSync(ballast());
});
