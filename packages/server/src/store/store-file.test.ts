import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import {
  copyFileSync,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { createLogger } from "@boxyard/core/node";
import { TestServer } from "../testing/test-server.ts";
import { finishPutBack, StoreFile } from "./store-file.ts";

const contentsOf = (path: string) => readFileSync(path, "utf8");

test("a file that cannot be examined is unavailable, and the kernel's error is not thrown", () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-store-file-"));
  const inner = join(directory, "data");
  mkdirSync(inner);
  writeFileSync(join(inner, "db"), "");
  const never = () => Promise.reject(new Error("not to be called"));
  const file = new StoreFile(join(inner, "db"), { copyTo: never, renewLog: never });
  expect(file.trouble()).toBeUndefined();
  rmSync(inner, { recursive: true });
  writeFileSync(inner, "a file in the directory's place");
  expect(file.trouble()).toMatchObject({ code: "unavailable", reason: "store_unavailable" });
  rmSync(directory, { recursive: true });
});

describe("a whole copy of a store that has not got its name", () => {
  let directory: string;
  let path: string;
  beforeEach(() => {
    directory = mkdtempSync(join(tmpdir(), "boxyard-store-file-"));
    path = join(directory, "db");
    writeFileSync(`${path}.whole`, "all of it");
    writeFileSync(`${path}.part`, "half");
  });
  afterEach(() => rmSync(directory, { recursive: true }));

  const contents = () => Object.fromEntries(readdirSync(directory).map((name) => [name, contentsOf(join(directory, name))]));

  test("gets its name at the next start, without the log of the deleted file, and without a hard link", () => {
    writeFileSync(`${path}-wal`, "of the deleted one");
    const before = statSync(`${path}.whole`).ino;
    expect(finishPutBack(path)).toBeUndefined();
    expect([contents(), statSync(path).ino]).toEqual([{ db: "all of it" }, before]);
  });

  test("is removed when the store's name leads to the same file already", () => {
    linkSync(`${path}.whole`, path);
    expect(finishPutBack(path)).toBeUndefined();
    expect(contents()).toEqual({ db: "all of it" });
  });

  test("is kept under a name of its own when another file is in its place", () => {
    writeFileSync(path, "an old backup");
    const kept = finishPutBack(path) ?? "";
    expect(basename(kept)).toMatch(/^db\.kept-\d+$/);
    expect(contents()).toEqual({ db: "an old backup", [basename(kept)]: "all of it" });
    expect(finishPutBack(path)).toBeUndefined();
  });

  test("is not confused with a half-written copy of an earlier version", () => {
    rmSync(`${path}.whole`);
    writeFileSync(`${path}.copy`, "half");
    expect(finishPutBack(path)).toBeUndefined();
    expect(contents()).toEqual({ "db.copy": "half" });
  });

  test("stops the server's start, and is named in the error, when it cannot get its name", () => {
    rmSync(`${path}.part`);
    mkdirSync(`${path}.part`);
    expect(() => finishPutBack(path)).toThrow(
      expect.objectContaining({ reason: "store_lost", message: expect.stringContaining(`${path}.whole`) }),
    );
    expect(contentsOf(`${path}.whole`)).toBe("all of it");
  });
});

test("a copy of a deleted store that cannot get the name at once is kept for the next start", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-store-file-"));
  const path = join(directory, "db");
  writeFileSync(path, "");
  // Another process takes the name during the copy. As on a file system without hard links, `linkSync` fails.
  const copyTo = async (part: string) => {
    writeFileSync(part, "all of it");
    writeFileSync(path, "an old backup");
  };
  const file = new StoreFile(path, { copyTo, renewLog: async () => {} });
  rmSync(path);
  await expect(file.putBack()).rejects.toMatchObject({ code: "unavailable", reason: "store_lost" });
  expect([contentsOf(path), contentsOf(`${path}.whole`)]).toEqual(["an old backup", "all of it"]);
  rmSync(directory, { recursive: true });
});

test("the next server says where it keeps a whole store whose place was taken", async () => {
  const first = await TestServer.start();
  await first.stop();
  const { dataDir } = first.config;
  copyFileSync(join(dataDir, "boxyard.db"), join(dataDir, "boxyard.db.whole"));
  const log = join(dataDir, "test.log");
  await using next = await TestServer.start({ dataDir, world: first.world, logger: createLogger("test", { level: "warn", file: log }) });
  const keptAs = next.server.context.store.health.keptAs ?? "";
  expect(existsSync(keptAs)).toBe(true);
  expect(contentsOf(log)).toContain(keptAs);
});
