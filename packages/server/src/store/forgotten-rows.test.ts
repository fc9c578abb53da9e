import { Database } from "bun:sqlite";
import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forgottenRows } from "./forgotten-rows.ts";
import { Sealer } from "./sealer.ts";
import type { Session } from "./session.ts";
import { SqlStore } from "./sql-store.ts";

test("what is to be forgotten is found without a look at every sandbox that runs", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-forgotten-"));
  try {
    const file = join(directory, "boxyard.db");
    await (await SqlStore.open({ file }, "here", new Sealer(new Uint8Array(32)))).close();
    let asked = "";
    const sql = async (text: TemplateStringsArray) => {
      asked = text.join("?");
      return [];
    };
    await forgottenRows({ sql } as unknown as Session, "here", 5);
    using database = new Database(file, { readonly: true });
    const plan = database.query<{ detail: string }, string[]>(`EXPLAIN QUERY PLAN ${asked}`).all();
    const searches = plan.map(({ detail }) => detail).filter((detail) => detail.includes("sandboxes"));
    expect(searches).toHaveLength(3);
    // Of the state `dead` alone, and of other nodes than this one.
    for (const search of searches) expect(search).toMatch(/\(state=\? AND ended_at<\?\)$|\(node[<>]\?\)$/);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
