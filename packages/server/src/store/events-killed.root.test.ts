import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId, type SandboxId } from "@boxyard/core";
import { sampleRecord } from "./sample-record.ts";
import { SqlStore } from "./sql-store.ts";

let directory: string;
let file: string;
beforeEach(async () => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-events-killed-"));
  file = join(directory, "boxyard.db");
  // The schema is there already: the writes that are counted are those of the changes.
  await (await SqlStore.open({ file, exclusive: true }, "node")).close();
});
afterEach(() => rmSync(directory, { recursive: true }));

const IDS = Array.from({ length: 6 }, () => newSandboxId());
const record = sampleRecord({ state: "running" });

/** Runs a process that makes changes one after another and tells each that was made, and that is killed at a write to the store's files. */
async function killedAtWrite(number: number): Promise<{ readonly told: string[]; readonly wasKilled: boolean }> {
  const script = `
    const { SqlStore } = await import(${JSON.stringify(join(import.meta.dir, "sql-store.ts"))});
    const { writeSync } = await import("node:fs");
    const store = await SqlStore.open({ file: ${JSON.stringify(file)}, exclusive: true }, "node");
    const record = ${JSON.stringify(record)};
    for (const id of ${JSON.stringify(IDS)}) {
      await store.insertSandbox({ ...record, id });
      writeSync(1, "made " + id + "\\n");
      await store.updateSandbox(id, ["running"], { state: "killing" });
      writeSync(1, "killing " + id + "\\n");
    }
    await store.close();`;
  const inject = ["-e", "trace=pwrite64", "-e", `inject=pwrite64:signal=SIGKILL:when=${number}`];
  const child = Bun.spawn(["strace", "-f", "-qq", "-o", "/dev/null", ...inject, process.execPath, "-e", script], {
    stdout: "pipe",
    stderr: "inherit",
  });
  const told = (await new Response(child.stdout).text()).split("\n").filter((line) => line !== "");
  await child.exited;
  return { told, wasKilled: told.length < 2 * IDS.length };
}

/** What is in the store, as the process tells it: by the sandboxes, and by the events. */
async function read(store: SqlStore): Promise<{ readonly byState: string[]; readonly byEvent: string[]; readonly cursors: number[] }> {
  const states = await Promise.all(IDS.map(async (id) => (await store.getSandbox(id as SandboxId))?.state));
  const byState = IDS.flatMap((id, i) =>
    states[i] === undefined ? [] : states[i] === "running" ? [`made ${id}`] : [`made ${id}`, `killing ${id}`],
  );
  const events = await store.events.read(0, 1000);
  const byEvent = events.map(({ action, targetId }) => `${action === "sandbox.running" ? "made" : "killing"} ${targetId}`);
  return { byState, byEvent, cursors: events.map(({ cursor }) => cursor) };
}

test.each([1, 2, 3, 5, 8, 12, 17, 25])(
  "a server that is killed at its write %d has each change with its event, or neither, and all that it has told",
  async (number) => {
    const { told, wasKilled } = await killedAtWrite(number);
    expect(wasKilled).toBe(true);
    const store = await SqlStore.open({ file, exclusive: true }, "node");
    const { byState, byEvent, cursors } = await read(store);
    expect(byEvent).toEqual(byState);
    expect(byEvent.slice(0, told.length)).toEqual(told);
    expect(cursors).toEqual(cursors.map((_, i) => i + 1));
    // The next one goes on where it stopped.
    const next = newSandboxId();
    await store.insertSandbox({ ...record, id: next });
    expect((await store.events.read(cursors.length, 10)).map(({ cursor, targetId }) => [cursor, targetId])).toEqual([
      [cursors.length + 1, next],
    ]);
    await store.close();
  },
  60_000,
);
