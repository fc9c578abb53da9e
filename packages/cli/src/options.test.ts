import { expect, test } from "bun:test";
import { parsePort, parseSeconds, parseSecondsOrNone } from "./options.ts";
import { bytes, duration } from "./output/units.ts";

test("durations are seconds or have a unit", () => {
  expect(["90", "1.5", "90s", "15m", "2h", "1d"].map(parseSeconds)).toEqual([90, 1.5, 90, 900, 7200, 86_400]);
  for (const wrong of ["0", "-1", "x", "1w", "", "1e3"]) expect(() => parseSeconds(wrong)).toThrow("number of seconds");
  expect(["0", "90", "10m"].map((text) => parseSecondsOrNone(text))).toEqual([0, 90, 600]);
  expect(() => parseSecondsOrNone("-1")).toThrow("number of seconds");
});

test("ports are whole numbers", () => {
  expect(parsePort("8080")).toBe(8080);
  for (const wrong of ["0", "65536", "1.5", "x"]) expect(() => parsePort(wrong)).toThrow();
});

test("sizes and times for people", () => {
  expect([0, 1023, 1024, 1536, 200 * 1024, 5e9].map(bytes)).toEqual(["0 B", "1023 B", "1.0 KiB", "1.5 KiB", "200 KiB", "4.7 GiB"]);
  expect([-5, 59_400, 60_000, 200_000, 3_600_000, 7_500_000].map(duration)).toEqual([
    "0 s",
    "59 s",
    "1 min",
    "3 min 20 s",
    "1 h",
    "2 h 5 min",
  ]);
});
