import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { serverLogPath } from "./server-file.ts";
import { startFailure } from "./start-failure.ts";

let dataDir: string;
beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), "boxyard-start-failure-"));
});
afterEach(() => rmSync(dataDir, { recursive: true }));

const EARLIER = "boxyard serve: of an earlier start\n";
/** The message after a start that has written `text` to the log. */
function said(text: string, freeBytes: number): string {
  writeFileSync(serverLogPath(dataDir), EARLIER + text);
  return startFailure(dataDir, "ended with exit code 1", EARLIER.length, freeBytes).message;
}
const NO_ROOM = () => `There is no room left on the disk of ${dataDir}, which cuts the log off: make some`;

test("the server's own line is the reason, else the end of its log", () => {
  expect(said("a line\nboxyard serve: the port is taken\n", 2 ** 30)).toBe("the server ended with exit code 1: the port is taken");
  expect(said("one\ntwo\n", 2 ** 30)).toEndWith(`. The end of its log, ${serverLogPath(dataDir)}:\n  one\n  two`);
  expect(said("one\n    at start (server.ts:1:2)\n", 2 ** 30)).toEndWith(`:\n  one`);
  expect(said("", 2 ** 30)).toBe("the server ended with exit code 1");
});

test("on a full disk a log that is cut off, or empty, is not all that is said", () => {
  expect(said("boxyard serve: the store has no ro", 0)).toBe(`the server ended with exit code 1: the store has no ro\n${NO_ROOM()}`);
  expect(said("", 0)).toBe(`the server ended with exit code 1. ${NO_ROOM()}`);
  expect(said("boxyard serve: the port is taken\n", 0)).toBe("the server ended with exit code 1: the port is taken");
});

test("without a log and a data directory there is still the failure", () => {
  rmSync(dataDir, { recursive: true });
  expect(startFailure(dataDir, "did not answer within 60 s", 0).message).toBe("the server did not answer within 60 s");
  writeFileSync(dataDir, "");
});
