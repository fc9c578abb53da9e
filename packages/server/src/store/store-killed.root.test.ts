import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sampleRecord } from "./sample-record.ts";
import { SqlStore } from "./sql-store.ts";

let directory: string;
let file: string;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-store-killed-"));
  file = join(directory, "boxyard.db");
});
afterEach(() => rmSync(directory, { recursive: true }));

const record = sampleRecord({ state: "running" });

/** Runs a process that has the store open while its file is deleted, writes the file again, and is killed at the first of these system calls. */
async function killedAt(calls: string): Promise<number | null> {
  const script = `
    const { SqlStore } = await import(${JSON.stringify(join(import.meta.dir, "sql-store.ts"))});
    const { rmSync } = await import("node:fs");
    const store = await SqlStore.open({ file: ${JSON.stringify(file)}, exclusive: true }, "node");
    await store.insertSandbox(${JSON.stringify(record)});
    rmSync(${JSON.stringify(file)});
    await store.probe().catch(() => {});
    process.exit(3);`;
  const inject = ["-e", `trace=${calls}`, "-e", `inject=${calls}:error=EIO:signal=SIGKILL`];
  const child = Bun.spawn(["strace", "-f", "-qq", "-o", "/dev/null", ...inject, process.execPath, "-e", script], { stderr: "inherit" });
  await child.exited;
  return child.exitCode;
}

test.each([
  ["before it is known to be whole, leaves no half store", "rename,renameat,renameat2", "boxyard.db.part", false],
  ["once it is whole, loses nothing: the next server has it", "link,linkat", "boxyard.db.whole", true],
] as const)(
  "a server that is killed while it writes a deleted store anew, %s",
  async (_, calls, left, isKept) => {
    expect(await killedAt(calls)).not.toBe(3);
    expect(readdirSync(directory).filter((name) => !/-(wal|shm)$/.test(name))).toEqual([left]);
    const next = await SqlStore.open({ file, exclusive: true }, "node");
    expect((await next.getSandbox(record.id))?.id).toBe(isKept ? record.id : undefined);
    await next.close();
    expect(readdirSync(directory)).toEqual(["boxyard.db"]);
  },
  30_000,
);
