import { expect, test } from "bun:test";
import { chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runProgram } from "@boxyard/testkit";
import { COLLECT_SCRIPT } from "./empty-image.ts";

test("root owns the root directory of an image FROM scratch, even if the first step has made it for another owner", async () => {
  const work = mkdtempSync(join(tmpdir(), "boxyard-empty-"));
  const root = join(work, "root");
  mkdirSync(root);
  writeFileSync(join(root, "file"), "");
  for (const path of [root, join(root, "file")]) chownSync(path, 1000, 1000);
  const archive = join(work, "out/archive.tar");
  expect((await runProgram(["sh", "-c", COLLECT_SCRIPT, "sh", root, archive])).exitCode).toBe(0);
  const { stdout } = await runProgram(["tar", "--numeric-owner", "-tvf", archive]);
  const owners = stdout
    .trim()
    .split("\n")
    .map((line) => line.split(/\s+/))
    .map((fields) => [fields.at(-1), fields[1]]);
  expect(owners).toEqual([
    ["./", "0/0"],
    ["./file", "1000/1000"],
  ]);
  rmSync(work, { recursive: true });
});
