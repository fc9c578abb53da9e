import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../testing/test-server.ts";

/*
 * What a create costs the store, as a count: pages in its log, which is the same on a slow machine. The limit is about twice what was measured: a
 * change that doubles the writes of a create does not fit.
 */

/** Measured in November 2026: 37 to 43 for one of its own making, 38 to 41 for one that waited with the making of the next. */
const MOST_PAGES = 80;
const HEADER_BYTES = 32;
const FRAME_HEADER_BYTES = 24;

/** The frames of SQLite's log since it was begun anew, and the salt that it has had since then (https://sqlite.org/fileformat2.html#the_write_ahead_log). */
function framesOf(log: Buffer): { readonly salt: string; readonly frames: number } {
  const bytes = FRAME_HEADER_BYTES + log.readUInt32BE(8);
  const salt = log.toString("hex", 16, 24);
  let frames = 0;
  for (let at = HEADER_BYTES; at + bytes <= log.length && log.toString("hex", at + 8, at + 16) === salt; at += bytes) frames += 1;
  return { salt, frames };
}

/** Pages that `work` writes; it is done again when the log was begun anew meanwhile. */
async function pagesOf(server: TestServer, work: () => Promise<unknown>): Promise<number> {
  const look = () => framesOf(readFileSync(join(server.config.dataDir, "boxyard.db-wal")));
  for (;;) {
    const before = look();
    await work();
    const after = look();
    if (after.salt === before.salt) return after.frames - before.frames;
  }
}

/** One create and kill, until the next sandbox waits if one is to wait. */
async function live(server: TestServer): Promise<void> {
  const { sandboxID } = await server.create();
  await server.call("DELETE", `/sandboxes/${sandboxID}`);
  const { sandboxes } = server.config.warm;
  await eventually("the next one waits", () => server.server.warm.size >= sandboxes);
}

test.each([
  ["a sandbox of its own making", "0"],
  ["a sandbox that waited, and the making of the next", "1"],
])(
  "create and kill of %s write few pages to the store",
  async (_, BOXYARD_WARM_SANDBOXES) => {
    await using server = await TestServer.start({ env: { BOXYARD_WARM_SANDBOXES } });
    for (let i = 0; i < 20; i++) await live(server);
    const pages = await pagesOf(server, () => live(server));
    expect(pages).toBeGreaterThan(0);
    expect(pages).toBeLessThanOrEqual(MOST_PAGES);
  },
  60_000,
);
