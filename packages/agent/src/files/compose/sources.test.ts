import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  appendFileSync,
  linkSync,
  lstatSync,
  mkdtempSync,
  readdirSync,
  renameSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { httpErrorOf } from "../../contracts.ts";
import { checkSource, checkUnchanged, deleteSource, type Source } from "./sources.ts";

let home = "";
beforeEach(() => {
  home = mkdtempSync(join(tmpdir(), "boxyard-sources-"));
});
afterEach(() => rmSync(home, { recursive: true }));

/** Makes a file and checks it as a source. */
function source(name: string, text = "text") {
  writeFileSync(join(home, name), text);
  return checkSource(name, join(home, name));
}

/** Waits until the kernel gives new files a later change time, so that a change of `path` is visible. */
async function tick(path: string): Promise<void> {
  const { ctimeNs } = statSync(path, { bigint: true });
  const probe = join(home, "probe");
  do {
    writeFileSync(probe, "");
    await Bun.sleep(1);
  } while (statSync(probe, { bigint: true }).ctimeNs <= ctimeNs);
  rmSync(probe);
}

const CHANGES: Record<string, (path: string) => void> = {
  grows: (path) => appendFileSync(path, " and more"),
  "gets other content of the same size": (path) => writeFileSync(path, "TEXT"),
  "gets other content, and its time set back": (path) => {
    const { atime, mtime } = statSync(path);
    writeFileSync(path, "TEXT");
    utimesSync(path, atime, mtime);
  },
  "is replaced": (path) => {
    writeFileSync(`${path}.new`, "text");
    renameSync(`${path}.new`, path);
  },
};

const CHANGED = [409, "source file changed while it was composed: a"];

/** Status and message of the answer when `checkUnchanged` refuses a source. */
function failureOf(given: Source): unknown {
  try {
    checkUnchanged(given);
  } catch (error) {
    return [httpErrorOf(error).status, (error as Error).message];
  }
  return undefined;
}

for (const [what, change] of Object.entries(CHANGES)) {
  test(`a source that ${what} fails checkUnchanged, and is not deleted`, async () => {
    const given = source("a");
    checkUnchanged(given);
    await tick(given.path);
    change(given.path);
    expect(failureOf(given)).toEqual(CHANGED);
    deleteSource(given);
    expect(readdirSync(home)).toEqual(["a"]);
  });
}

test("a source that was removed fails checkUnchanged", () => {
  const given = source("a");
  rmSync(given.path);
  expect(failureOf(given)).toEqual(CHANGED);
  deleteSource(given);
});

test("two names of one file and a link are deleted; the target of the link stays, also after a write to it", async () => {
  const [file, target] = [source("a"), source("target")];
  linkSync(file.path, join(home, "b"));
  symlinkSync("target", join(home, "link"));
  const sources = ["a", "b", "link"].map((name) => checkSource(name, join(home, name)));
  await tick(file.path);
  appendFileSync(target.path, " and more");
  for (const each of sources) deleteSource(each);
  expect(readdirSync(home)).toEqual(["target"]);
  expect(lstatSync(target.path).size).toBe(13);
});

test("an empty file is a source; a file of the kernel is not, whatever its size says", () => {
  expect(source("empty", "").file.size).toBe(0n);
  expect(() => checkSource("p", "/proc/version")).toThrow("source path is a file that the kernel makes up as it is read: p");
});
