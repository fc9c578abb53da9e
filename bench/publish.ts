import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { CHECKOUT } from "@boxyard/testkit";
import { chartOf } from "./lib/page/chart.ts";
import type { Page } from "./lib/page/outcome.ts";
import { markdownTable } from "./lib/page/table.ts";

/** The latest page; README.md shows the chart, docs/performance.md the table. */
const JSON_FILE = "docs/bench/latest.json";
const CHART_FILE = "docs/bench/promises.svg";
const TABLE_FILE = "docs/performance.md";

/** Writes the figures of a page, and the chart and the table that are made of them. Returns the paths, in the checkout. */
export function publish(page: Page): readonly string[] {
  write(JSON_FILE, `${JSON.stringify(page, null, 2)}\n`);
  write(CHART_FILE, chartOf(page));
  write(TABLE_FILE, between(readFileSync(join(CHECKOUT, TABLE_FILE), "utf8"), markdownTable(page)));
  return [JSON_FILE, CHART_FILE, TABLE_FILE];
}

function write(path: string, text: string): void {
  mkdirSync(dirname(join(CHECKOUT, path)), { recursive: true });
  writeFileSync(join(CHECKOUT, path), text);
}

/** Replaces what is between the two marks. Throws when the document has none. */
function between(document: string, text: string): string {
  const marked = /(<!-- bench -->\n)[\s\S]*?(<!-- \/bench -->)/;
  if (!marked.test(document)) throw new Error(`${TABLE_FILE} has no <!-- bench --> and <!-- /bench -->`);
  return document.replace(marked, (_all, begin: string, end: string) => `${begin}${text}\n${end}`);
}
