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
