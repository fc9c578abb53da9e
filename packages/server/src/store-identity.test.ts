import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, renameSync } from "node:fs";
import { join } from "node:path";
import { TestServer } from "./testing/test-server.ts";

/** Moves the store's files from one directory to another. */
function moveStore(from: string, to: string): void {
  mkdirSync(to, { recursive: true });
  for (const name of readdirSync(from)) if (name.startsWith("boxyard.db")) renameSync(join(from, name), join(to, name));
}

test("a server does not start on a store without records of the directory's sandboxes, and removes none of them", async () => {
  const first = await TestServer.start();
  const { world, config } = first;
  const { dataDir } = config;
  const { sandboxID } = await first.create();
  await first.stop();
  const aside = join(dataDir, "aside");
  moveStore(dataDir, aside);
  await expect(TestServer.start({ world, dataDir })).rejects.toMatchObject({
    reason: "store_mismatch",
    message: expect.stringMatching(/has 1 sandbox\(es\) whose records are in another store.*--adopt-orphans.*--remove-orphans/s),
  });
  expect(world.sandboxes.has(sandboxID)).toBe(true);

  const empty = join(dataDir, "empty");
  moveStore(dataDir, empty);
  moveStore(aside, dataDir);
  const again = await TestServer.start({ world, dataDir });
  expect(again.server.adoption).toMatchObject({ adopted: 1, removed: 0 });
  await again.call("DELETE", `/sandboxes/${sandboxID}`);
  await again.stop();

  // Without sandboxes there is nothing to lose.
  moveStore(dataDir, aside);
  moveStore(empty, dataDir);
  await using last = await TestServer.start({ world, dataDir });
  const { sandboxID: other } = await last.create();
  expect(world.sandboxes.has(other)).toBe(true);
});
