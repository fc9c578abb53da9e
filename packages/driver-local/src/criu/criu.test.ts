import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  criuDirectory,
  criuFactsFile,
  criuVersion,
  isCriuNewEnough,
  kernelRelease,
  readCriuFacts,
  withPreload,
  workingCriu,
} from "./criu.ts";

let dataDir: string;
beforeAll(() => {
  dataDir = mkdtempSync(join(tmpdir(), "boxyard-criu-facts-"));
  mkdirSync(criuDirectory(dataDir));
});
afterAll(() => rmSync(dataDir, { recursive: true }));

test("a version of CRIU is found in its output, and accepted from 4.2 on", () => {
  expect(["4.2.1", "4.2", "5.0"].map(isCriuNewEnough)).toEqual([true, true, true]);
  expect(["3.17.1", "4.1", ""].map(isCriuNewEnough)).toEqual([false, false, false]);
  expect(["Version: 4.2.1\nGitID: v4.2.1", "Version: 3.17", "?"].map(criuVersion)).toEqual(["4.2.1", "3.17", undefined]);
});

test("a CRIU that failed its trial is not used, and neither is one from a damaged file", () => {
  const criu = { file: "/x/ld.so", args: ["/x/criu"], version: "4.2.1" };
  const facts = { version: 1, kernel: kernelRelease(), criu };
  const write = (text: string) => writeFileSync(criuFactsFile(dataDir), text);
  expect(workingCriu(join(dataDir, "none"))).toBeUndefined();
  write(JSON.stringify(facts));
  expect(workingCriu(dataDir)).toEqual(criu);
  write(JSON.stringify({ ...facts, problem: "it does not" }));
  expect([workingCriu(dataDir), readCriuFacts(dataDir)?.problem]).toEqual([undefined, "it does not"]);
  for (const bad of ["", "{", JSON.stringify({ ...facts, version: 2 })]) {
    write(bad);
    expect(readCriuFacts(dataDir)).toBeUndefined();
  }
});

test("a library is loaded before those of a private CRIU; the machine's own CRIU stays as it is", () => {
  const own = { file: "/usr/sbin/criu", args: [], version: "4.2.1" };
  expect(withPreload(own, "/x.so")).toBe(own);
  const ofLoader = { file: "/x/ld.so", args: ["--library-path", "/x/lib", "/x/criu"], version: "4.2.1" };
  expect(withPreload(ofLoader, "/x.so").args).toEqual(["--preload", "/x.so", ...ofLoader.args]);
});
