import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { BodyClaim } from "../../body/budget.ts";
import type { Users } from "../../contracts.ts";
import { LIMITS } from "../limits.ts";
import { listDirMessage } from "./list-dir.ts";

const users = { userName: String, groupName: String } as unknown as Users;
const claim = { hold: async () => {}, release: () => {} } as unknown as BodyClaim;

test("a directory of listEntries entries is listed; one more entry is failed_precondition, with advice", async () => {
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

/** Waits until the one child of a process is a zombie; returns its pid. */
async function endedChildOf(pid: number): Promise<string> {
  for (;;) {
    const child = readFileSync(`/proc/${pid}/task/${pid}/children`, "latin1").trim();
    if (child && / Z /.test(readFileSync(`/proc/${child}/stat`, "latin1"))) return child;
    await Bun.sleep(5);
  }
}

test("a zombie process does not fail a listing of /proc", async () => {
  const parent = Bun.spawn(["/bin/sh", "-c", "sh -c : & exec sleep 60"]);
  try {
    const path = `/proc/${await endedChildOf(parent.pid)}`;
    const { signal } = new AbortController();
    const { pieces } = await listDirMessage({ users, path, depth: 2, signal, present: (entry) => entry }, claim);
    expect(Buffer.concat(pieces).toString()).toContain(`"path":"${path}/net"`);
  } finally {
    parent.kill();
    await parent.exited;
  }
});
