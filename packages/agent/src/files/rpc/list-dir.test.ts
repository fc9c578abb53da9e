import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BodyClaim } from "../../body/budget.ts";
import type { Users } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { listDirMessage } from "./list-dir.ts";

const users = { userName: String, groupName: String } as unknown as Users;
const claim = { hold: async () => {}, release: () => {} } as unknown as BodyClaim;

test("as many entries as the limit says are listed, one more is failed_precondition with what to do", async () => {
  const limits = LIMITS as { listEntries: number };
  const { listEntries } = limits;
  const dir = mkdtempSync(join(tmpdir(), "list-dir-"));
  const list = () => listDirMessage({ users, path: dir, depth: 1, signal: new AbortController().signal, present: (entry) => entry }, claim);
  try {
    limits.listEntries = 5;
    for (let i = 0; i < 5; i++) writeFileSync(join(dir, String(i)), "");
    expect(JSON.parse(Buffer.concat((await list()).pieces).toString()).entries).toHaveLength(5);
    writeFileSync(join(dir, "more"), "");
    await expect(list()).rejects.toMatchObject({
      code: "failed_precondition",
      reason: "too_many_entries",
      message: `'${dir}' holds more than 5 entries; list its directories one by one`,
    });
  } finally {
    limits.listEntries = listEntries;
    rmSync(dir, { recursive: true });
  }
});
