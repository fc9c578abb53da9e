import { expect, test } from "bun:test";
import { logLineAsText } from "./log-text.ts";

test("a line of the log reads as a sentence, with its fields behind it", () => {
  const line = { level: 30, time: "2026-01-02T03:04:05.678Z", path: "/a b", status: 201, ids: ["x"], msg: "request" };
  expect(logLineAsText(JSON.stringify(line))).toBe('03:04:05 INFO  request path="/a b" status=201 ids="[\\"x\\"]"');
  const err = { type: "Error", message: "no luck", stack: "Error: no luck\n    at f (a.ts:1)" };
  expect(logLineAsText(JSON.stringify({ level: 50, time: 0, err, msg: "it failed" }))).toBe(
    "00:00:00 ERROR it failed: no luck\n    at f (a.ts:1)",
  );
});

test("other lines stay unchanged", () => {
  for (const line of ["Boxyard runs at http://x.", "{", '{"a":1}', ""]) expect(logLineAsText(line)).toBe(line);
});
