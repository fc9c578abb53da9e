import { expect, test } from "bun:test";
import { delimiterOf, parseCsv } from "./csv.ts";

const rows = (text: string, delimiter = ",") => parseCsv(text, delimiter).rows;

test.each([
  ["", []],
  [
    "a,b\n1,2\n",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a,b\r\n1,2",
    [
      ["a", "b"],
      ["1", "2"],
    ],
  ],
  [
    "a,,\n,b",
    [
      ["a", "", ""],
      ["", "b"],
    ],
  ],
  ["a,\r\nb", [["a", ""], ["b"]]],
  [
    '"a,b","c""d"\n"e\nf",g',
    [
      ["a,b", 'c"d'],
      ["e\nf", "g"],
    ],
  ],
  ['"open\nx,y', [["open\nx,y"]]],
  ['"a"tail,b', [["atail", "b"]]],
  ["\ufeffa\n\nb", [["a"], [""], ["b"]]],
  ["a\rb", [["a"], ["b"]]],
])("%j", (text, expected) => {
  expect(rows(text)).toEqual(expected);
});

test("what separates the cells", () => {
  expect([
    delimiterOf("a.csv", "x;y;z\n1,2,3,4"),
    delimiterOf("a.csv", '"a;b;c",d\n'),
    delimiterOf("a.TSV", "a,b"),
    delimiterOf("a.csv", ""),
  ]).toEqual([...[";", ",", "\t", ","]]);
});

test("a table is shown as far as its bounds, in time that grows with its text", () => {
  const wide = parseCsv(`${"x,".repeat(500)}\n${"y".repeat(2000)}`, ",");
  expect([wide.width, wide.rows.length, wide.rows[1]?.[0]?.length, wide.isCut]).toEqual([60, 2, 501, false]);
  const long = parseCsv("a\n".repeat(20_000), ",");
  expect([long.rows.length, long.isCut]).toEqual([10_000, true]);
  const quotes = parseCsv('"'.repeat(1_000_000), ",");
  expect([quotes.rows.length, quotes.rows[0]?.[0]?.length]).toEqual([1, 501]);
});
