import { expect, test } from "bun:test";
import { chartOf } from "./chart.ts";
import { type Page, rowsOf } from "./outcome.ts";
import { markdownTable, printedTable } from "./table.ts";

const verdicts = [
  { promise: "create ≤ 12 ms", measured: "24 ms", kept: false },
  { promise: "all | waited", measured: "40 of 40", kept: true },
];
const page: Page = {
  version: 1,
  at: "2026-11-28T00:00:00.000Z",
  machine: { cpu: "c", cores: 2, memoryGiB: 8, kernel: "6.1", bun: "1" },
  load: { before: 0.5, after: 1 },
  seconds: 9,
  benches: [
    { name: "create-warm", promises: [1], seconds: 4, outcome: { result: { series: {}, verdicts, notes: [] } } },
    { name: "proxy", promises: [10], seconds: 0, outcome: { skipped: "nginx <is> not installed" } },
    { name: "pause", promises: [9], seconds: 1, outcome: { failed: "no CRIU" } },
  ],
};

test("each promise has a row, also one that was not measured, with the reason", () => {
  expect(rowsOf(page).map(({ state, measured, ratio }) => [state, measured, ratio])).toEqual([
    ["missed", "24 ms", 2],
    ["kept", "40 of 40", undefined],
    ["skipped", "nginx <is> not installed", undefined],
    ["failed", "no CRIU", undefined],
  ]);
  expect(printedTable(page).split("\n")).toHaveLength(5);
  expect(printedTable(page)).toMatch(/✗ +1 +create-warm +create ≤ 12 ms +24 ms +2\.00/);
  expect(markdownTable(page)).toContain("| ✓ | 1 | create-warm | all \\| waited | 40 of 40 |  |");
});

test("the chart has a bar for each ratio, and no text breaks it", () => {
  const chart = chartOf(page);
  expect(chart.match(/<rect x=/g)).toHaveLength(1);
  expect(chart).toContain("create ≤ 12 ms");
  const odd = { promise: "a < b & c ≤ 1", measured: "2", kept: false };
  const [first] = page.benches;
  const benches = first ? [{ ...first, outcome: { result: { series: {}, verdicts: [odd], notes: [] } } }] : [];
  expect(chartOf({ ...page, benches })).toContain(">a &lt; b &amp; c ≤ 1<");
});
