import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, renameSync, rmdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PinnedDir } from "../path/pinned-dir.ts";
import { namesIn, openAbove, removeTree } from "./remove-tree.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "boxyard-remove-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const descriptors = () => readdirSync("/proc/self/fd").length;

/** Runs `before.run` before the given call in this directory, as an attacker could by chance. */
class Meanwhile extends PinnedDir {
  private calls = 0;
  before = { call: 0, run: () => {} };
  override at(name: string): string;
  override at(name: string | Buffer): string | Buffer;
  override at(name: string | Buffer): string | Buffer {
    if (++this.calls === this.before.call) this.before.run();
    return super.at(name);
  }
}

async function removeWhile(name: string, call: number, run: () => void): Promise<void> {
  const pinned = PinnedDir.open(root);
  const parent = new Meanwhile(pinned.fd);
  parent.before = { call, run };
  await removeTree(parent, name).finally(() => parent.close());
}

describe("changes while a tree is removed", () => {
  // Calls in the parent: unlink, open, rmdir.
  test.each([2, 3])("a directory replaced by a link before call %d: the target of the link stays, the link is removed", async (call) => {
    mkdirSync(`${root}/precious-${call}`);
    writeFileSync(`${root}/precious-${call}/gold`, "");
    mkdirSync(`${root}/tree-${call}`);
    const before = descriptors();
    await removeWhile(`tree-${call}`, call, () => {
      renameSync(`${root}/tree-${call}`, `${root}/away-${call}`);
      symlinkSync(`${root}/precious-${call}`, `${root}/tree-${call}`);
    });
    expect([existsSync(`${root}/precious-${call}/gold`), existsSync(`${root}/tree-${call}`)]).toEqual([true, false]);
    expect(descriptors()).toBe(before);
  });

  test("a file that is made in it before its rmdir is removed too", async () => {
    mkdirSync(`${root}/filled`);
    await removeWhile("filled", 3, () => writeFileSync(`${root}/filled/late`, ""));
    expect(existsSync(`${root}/filled`)).toBe(false);
  });

  test("a directory that was removed after it was opened has no names, and its parent can still be opened", () => {
    mkdirSync(`${root}/up/gone`, { recursive: true });
    const up = PinnedDir.open(`${root}/up`);
    const gone = PinnedDir.open(`${root}/up/gone`);
    rmdirSync(`${root}/up/gone`);
    expect(namesIn(gone)).toEqual([]);
    const again = openAbove(gone, up.identity());
    expect(again?.realPath().toString()).toBe(`${root}/up`);
    for (const dir of [up, gone, again]) dir?.close();
  });

  test("openAbove opens the parent only where its identity is the expected one", () => {
    mkdirSync(`${root}/from/below`, { recursive: true });
    mkdirSync(`${root}/elsewhere`);
    const from = PinnedDir.open(`${root}/from`);
    const below = PinnedDir.open(`${root}/from/below`);
    const again = openAbove(below, from.identity());
    expect(again?.realPath().toString()).toBe(`${root}/from`);
    again?.close();
    renameSync(`${root}/from/below`, `${root}/elsewhere/below`);
    const before = descriptors();
    expect(openAbove(below, from.identity())).toBeUndefined();
    expect(descriptors()).toBe(before);
    from.close();
    below.close();
  });
});
