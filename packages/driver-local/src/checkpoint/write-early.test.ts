import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import type { ChildProgram, ForkServer } from "../sys/fork-server/index.ts";
import { writeEarly } from "./write-early.ts";

const work = mkdtempSync(join(tmpdir(), "boxyard-write-early-"));
afterAll(() => rmSync(work, { recursive: true }));

/** A fork server that collects the programs it gets, and answers each with `answer`. */
function asked(answer: () => Promise<number>) {
  const programs: ChildProgram[] = [];
  const run = (program: ChildProgram) => {
    programs.push(program);
    return answer();
  };
  return { programs, forkServer: { run } as unknown as ForkServer };
}

test("files of memory are written as they grow, until the end", async () => {
  const { programs, forkServer } = asked(async () => 0);
  const dump = Promise.withResolvers<void>();
  const done = writeEarly(work, forkServer, dump.promise);
  writeFileSync(join(work, "inventory.img"), new Uint8Array(32 << 20));
  writeFileSync(join(work, "pages-1.img"), new Uint8Array(32 << 20));
  await eventually("the first is written", () => programs.length === 1);
  writeFileSync(join(work, "pages-1.img"), new Uint8Array(64 << 20));
  await eventually("what has come is written", () => programs.length === 2);
  dump.resolve();
  await done;
  expect(programs.map((program) => program.nameOf(1))).toEqual(Array(2).fill(`sync_file_range ${join(work, "pages-1.img")}`));
});

test("writeEarly does not fail when there is no fork server, the directory cannot be read or the dump fails", async () => {
  const { forkServer } = asked(() => Promise.reject(new Error("no helper")));
  await writeEarly(work, forkServer, new Promise(() => {}));
  for (const unreadable of ["none", "inventory.img"])
    await writeEarly(join(work, unreadable), forkServer, Promise.reject(new Error("of the dump")));
});
