import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newSandboxId } from "@boxyard/core";
import { copyOf, type LocalSandboxRecord, readRecord, rewriteRecord, writeRecord } from "./record.ts";

let directory: string;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-record-"));
});
afterAll(() => rmSync(directory, { recursive: true }));

const sandboxId = newSandboxId();
const record: LocalSandboxRecord = {
  version: 1,
  sandboxId,
  incarnation: 3,
  uidBase: 0x1000_0000,
  resources: { cpuCount: 1, memoryBytes: 1, diskBytes: 1, maxProcesses: 1 },
  network: { internetAccess: false },
  labels: { a: "b" },
  lease: { sandboxId, incarnation: 3, address: "10.0.0.2", gateway: "10.0.0.1", prefixLength: 32, link: "l" },
  process: { pid: 5, startTicks: 6, bootId: "x" },
};

test("a record is read as it was written, and nothing else is left in the directory", async () => {
  const path = join(directory, "state.json");
  await writeRecord(path, record);
  await writeRecord(path, { ...record, ending: "killed" });
  expect(readRecord(path)).toEqual({ ...record, ending: "killed" });
  expect(readdirSync(directory).sort()).toEqual(["state.copy.json", "state.json"]);
});

test("a record that is written into its files is read as it was written, shorter or longer than before, also when one of them is missing", async () => {
  const path = join(directory, "in-place.json");
  const changes = [{ labels: {} }, { labels: { team: "t".repeat(3000) } }, { labels: { a: "b" } }];
  await writeRecord(path, record);
  for (const change of changes) {
    await rewriteRecord(path, { ...record, ...change });
    expect(readRecord(path)).toEqual({ ...record, ...change });
    expect(readFileSync(copyOf(path), "utf8")).toBe(readFileSync(path, "utf8"));
  }
  rmSync(copyOf(path));
  await rewriteRecord(path, { ...record, labels: { team: "u" } });
  rmSync(path);
  expect(readRecord(path)?.labels).toEqual({ team: "u" });
  rmSync(copyOf(path));
});

test("a file that is missing, torn, of another version or of another form is no record", () => {
  const path = join(directory, "bad.json");
  expect(readRecord(join(directory, "none"))).toBeUndefined();
  const bad = ["", "{", "null", "[]", JSON.stringify(record).slice(0, -9)];
  const changed = [{ version: 2 }, { sandboxId: "../x" }, { uidBase: "0" }, { process: { pid: "1" } }, { lease: null }];
  for (const text of [...bad, ...changed.map((change) => JSON.stringify({ ...record, ...change }))]) {
    writeFileSync(path, text);
    expect([text, readRecord(path)]).toEqual([text, undefined]);
  }
});

describe("a damaged file", () => {
  const path = () => join(directory, "damaged", "state.json");
  beforeEach(async () => {
    rmSync(join(directory, "damaged"), { recursive: true, force: true });
    mkdirSync(join(directory, "damaged"));
    await writeRecord(path(), record);
  });
  const damages: [string, (file: string) => void][] = [
    ["is torn", (file) => writeFileSync(file, readFileSync(file, "utf8").slice(0, 100))],
    ["is empty", (file) => writeFileSync(file, "")],
    ["has other content", (file) => writeFileSync(file, readFileSync(file, "utf8").replace('"pid":5', '"pid":6'))],
    ["is gone", (file) => rmSync(file)],
    [
      "is a directory",
      (file) => {
        rmSync(file);
        mkdirSync(join(file, "in"), { recursive: true });
      },
    ],
    [
      "is a loop of links",
      (file) => {
        rmSync(file);
        symlinkSync(file, file);
      },
    ],
  ];
  test.each(damages)(
    "that %s is harmless while the other is whole; when both are damaged there is no record; both can be written anew",
    async (_, damage) => {
      for (const file of [path(), copyOf(path())]) {
        damage(file);
        expect(readRecord(path())).toEqual(record);
        await writeRecord(path(), record);
      }
      damage(path());
      damage(copyOf(path()));
      expect(readRecord(path())).toBeUndefined();
      await writeRecord(path(), record);
      expect(readRecord(path())).toEqual(record);
      expect(readdirSync(join(directory, "damaged")).filter((name) => name.endsWith(".new"))).toEqual([]);
    },
  );
});
