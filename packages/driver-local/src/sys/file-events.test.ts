import { afterEach, beforeEach, expect, test } from "bun:test";
import { closeSync, mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { FileEvents, IN } from "./file-events.ts";

let directory = "";
let events: FileEvents;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-file-events-"));
  writeFileSync(join(directory, "file"), "text");
  events = FileEvents.open() as FileEvents;
});
afterEach(() => {
  events.close();
  rmSync(directory, { recursive: true });
});

const touch = (path: string) => closeSync(openSync(path, "r"));

test("a listener gets events of the directory itself and of files in it, until it ends", async () => {
  const seen: boolean[] = [];
  const end = events.watch(directory, IN.OPEN, ({ isSelf }) => seen.push(isSelf));
  touch(join(directory, "file"));
  await eventually("the file's event is there", () => seen.length === 1);
  touch(directory);
  await eventually("the directory's event is there", () => seen.length === 2);
  expect(seen).toEqual([false, true]);
  end?.();
  let others = 0;
  events.watch(join(directory, "file"), IN.OPEN, () => others++);
  touch(join(directory, "file"));
  await eventually("the other listener's event is there", () => others === 1);
  expect(seen).toHaveLength(2);
});

test("two listeners share a watch; each gets the events of both until it ends", async () => {
  const path = join(directory, "file");
  const told = [0, 0];
  const ends = told.map((_, i) => events.watch(path, i === 0 ? IN.OPEN : IN.MODIFY, () => (told[i] = (told[i] ?? 0) + 1)));
  ends[0]?.();
  ends[0]?.();
  writeFileSync(path, "other");
  await eventually("the second listener is told", () => (told[1] ?? 0) > 0);
  expect(told[0]).toBe(0);
});

test("what is not there cannot be watched, and nothing can after the end", () => {
  expect(events.watch(join(directory, "missing"), IN.OPEN, () => {})).toBeUndefined();
  events.close();
  expect(events.watch(directory, IN.OPEN, () => {})).toBeUndefined();
});

test("the removal of a watched file ends its watch", async () => {
  let told = 0;
  const path = join(directory, "file");
  const end = events.watch(path, IN.MODIFY, () => told++);
  rmSync(path);
  await eventually("the end of the watch is told", () => told > 0);
  end?.();
});
