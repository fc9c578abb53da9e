import { expect, test } from "bun:test";
import { parseRange } from "./range.ts";

test.each([
  [null, "whole"],
  ["items=0-1", "whole"],
  ["bytes=0-9", [{ start: 0, end: 9 }]],
  [
    "bytes = 0-0 , 5-5 ",
    [
      { start: 0, end: 0 },
      { start: 5, end: 5 },
    ],
  ],
  ["bytes=-5", [{ start: 95, end: 99 }]],
  ["bytes=-500", [{ start: 0, end: 99 }]],
  ["bytes=90-", [{ start: 90, end: 99 }]],
  ["bytes=90-9999999999", [{ start: 90, end: 99 }]],
  ["bytes=0-1,200-300", [{ start: 0, end: 1 }]],
  ["bytes=0-60,40-99", "whole"],
  ["bytes=100-", "unsatisfiable"],
  ["bytes=-0", "unsatisfiable"],
  ["bytes=", "unsatisfiable"],
  ["bytes=,", "unsatisfiable"],
  ["bytes=5-4", "unsatisfiable"],
  ["bytes=-", "unsatisfiable"],
  ["bytes=0-1,x", "unsatisfiable"],
  ["bytes=0x1-2", "unsatisfiable"],
  ["bytes=1.5-2", "unsatisfiable"],
  ["bytes=-1-2", "unsatisfiable"],
  ["bytes=99999999999999999999-", "unsatisfiable"],
])("%p of 100 bytes", (header, expected) => {
  expect(parseRange(header, 100)).toEqual(expected as never);
});

test("an empty file has no ranges", () => {
  expect(parseRange("bytes=0-1", 0)).toBe("whole");
});
