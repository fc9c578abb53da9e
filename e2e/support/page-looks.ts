import { mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { readTestConfig } from "@boxyard/testkit";
import type { Page } from "playwright-core";

/** Pictures go here; into the documents with `BOXYARD_SCREENSHOTS=docs/dashboard`. */
const { pictures } = readTestConfig();
const AXE = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

/** Takes a picture of the page as it is. */
export async function picture(page: Page, name: string): Promise<void> {
  mkdirSync(pictures, { recursive: true });
  await page.screenshot({ path: join(pictures, `${name}.png`) });
}

/** What axe finds on the page as it is. */
export async function findings(page: Page): Promise<string[]> {
  await page.evaluate(AXE);
  return page.evaluate(async () => {
    // biome-ignore lint/suspicious/noExplicitAny: the script above has defined it
    const { violations } = await (globalThis as any).axe.run(document, { iframes: false });
    // biome-ignore lint/suspicious/noExplicitAny: as axe gives it
    return violations.flatMap((one: any) => one.nodes.map((node: any) => `${one.id}: ${node.target} ${node.failureSummary}`));
  });
}

/** Whether the page is no wider than the window. */
export const fits = (page: Page): Promise<boolean> => page.evaluate(() => document.documentElement.scrollWidth <= innerWidth);

/** What has moved on the page since `watchShifts`: how much of the window, and which elements. */
export interface Shifts {
  readonly sum: number;
  readonly what: readonly string[];
}

interface Shift {
  readonly value: number;
  readonly sources: readonly { readonly node: Node | null }[];
}

/** From now on the page notes what moves by itself. */
export async function watchShifts(page: Page): Promise<void> {
  await page.evaluate(() => {
    const shifts: Shift[] = [];
    Object.assign(globalThis, { shifts });
    new PerformanceObserver((list) => shifts.push(...(list.getEntries() as unknown as Shift[]))).observe({ type: "layout-shift" });
  });
}

export const shiftsOf = (page: Page): Promise<Shifts> =>
  page.evaluate(() => {
    const { shifts } = globalThis as unknown as { shifts: readonly Shift[] };
    const what = shifts.flatMap(({ sources }) => sources.map(({ node }) => `${node?.nodeName} ${node?.textContent?.slice(0, 60)}`));
    return { sum: shifts.reduce((sum, { value }) => sum + value, 0), what };
  });
