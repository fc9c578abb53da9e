import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { Page } from "playwright-core";
import { openBrowser, signIn } from "../support/browser.ts";
import { makePdf } from "../support/pdf.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

const MARK = "document.documentElement.dataset.acted='yes'";

/** The part of the page's pixels that are dark: 0 for an empty page. */
const ink = (page: Page) =>
  page.locator(".pdf canvas").evaluate(async (element) => {
    const { width, height } = element as HTMLCanvasElement;
    const copy = new OffscreenCanvas(width, height).getContext("2d");
    copy?.drawImage(await createImageBitmap(element as HTMLCanvasElement), 0, 0);
    const data = copy?.getImageData(0, 0, width, height).data ?? [];
    let dark = 0;
    for (let at = 0; at < data.length; at += 4) if ((data[at] ?? 255) < 100) dark += 1;
    return (4 * dark) / data.length;
  });

const choose = (page: Page, name: string) => page.getByRole("treeitem", { name }).click();

test("a CSV as a table and as text, both with what was typed and saved", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform());
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await sandbox.client.files.write("people.csv", 'name,count\nada,1\n"a, b",2\n');
  await sandbox.client.files.write("long.tsv", `n\tsquare\n${Array.from({ length: 250 }, (_, n) => `${n}\t${n * n}\n`).join("")}`);
  await signIn(page, apiUrl, apiKey, `/sandboxes/${sandbox.id}/files`);
  await choose(page, "people.csv");
  const table = page.getByRole("region", { name: "Table of people.csv" });
  await table.waitFor();
  expect(await table.getByRole("columnheader").allTextContents()).toEqual(["name", "count"]);
  expect(await table.getByRole("cell").allTextContents()).toEqual(["ada", "1", "a, b", "2"]);
  await page.getByRole("button", { name: "Text" }).click();
  await page.getByLabel("Content of people.csv").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("bob,3");
  // What is typed is in the table before it is saved.
  await page.getByRole("button", { name: "Table" }).click();
  await table.getByRole("cell", { name: "bob" }).waitFor();
  await page.getByRole("button", { name: "Text" }).click();
  await page.getByLabel("Content of people.csv").getByText("bob,3").waitFor();
  await page.getByRole("button", { name: "Save" }).click();
  await page.getByText("people.csv is saved").waitFor();
  expect(await sandbox.client.files.read("people.csv")).toBe('name,count\nada,1\n"a, b",2\nbob,3');
  await page.getByRole("button", { name: "Table" }).click();
  await table.getByRole("cell", { name: "bob" }).waitFor();
  await page.getByRole("button", { name: "Text" }).click();
  await page.getByLabel("Content of people.csv").getByText("bob,3").waitFor();
  expect(await page.getByRole("button", { name: "Save" }).isDisabled()).toBe(true);

  await choose(page, "long.tsv");
  await page.getByText("Rows 1 to 100 of 250").waitFor();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("button", { name: "Next" }).click();
  await page.getByRole("cell", { name: "62001" }).waitFor();
  expect(await page.getByRole("button", { name: "Next" }).isDisabled()).toBe(true);
  await choose(page, "people.csv");
  await table.getByRole("cell", { name: "bob" }).waitFor();
  expect(browser.complaints).toEqual([]);
}, 60_000);

test("a PDF page by page, with its text for screen readers; what is no PDF is named", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform());
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await sandbox.client.files.write("paper.pdf", makePdf({ pages: ["The first page", "The second page"] }));
  await sandbox.client.files.write("broken.pdf", "%PDF-1.7\nnothing of it");
  await signIn(page, apiUrl, apiKey, `/sandboxes/${sandbox.id}/files`);
  await choose(page, "paper.pdf");
  await page.locator(".pdf canvas[data-page='1']").waitFor();
  await page.getByText("Page 1 of 2").waitFor();
  expect(await ink(page)).toBeGreaterThan(0.001);
  expect(await page.locator(".pdf .hidden").textContent()).toContain("The first page");
  await page.getByRole("button", { name: "Next" }).click();
  await page.locator(".pdf canvas[data-page='2']").waitFor();
  await eventually("the text of the second page", async () =>
    (await page.locator(".pdf .hidden").textContent())?.includes("The second page"),
  );
  await choose(page, "broken.pdf");
  await page.getByText("The file cannot be shown").waitFor();
  expect(browser.complaints).toEqual([]);
}, 60_000);

test("a hostile PDF or CSV is drawn and does nothing else", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform());
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  const script = `<< /S /JavaScript /JS (${MARK}; app.alert\\(1\\); this.submitForm\\('${apiUrl}/dashboard/api/v2/sandboxes'\\)) >>`;
  const link = "/Type /Annot /Subtype /Link /Rect [0 0 612 792] /Border [0 0 0]";
  const files: Record<string, string> = {
    // Scripts at the opening, of a page and of a name; links over the whole page.
    "scripts.pdf": makePdf({
      pages: ["Scripts"],
      catalog: `/OpenAction ${script} /AA << /WC ${script} >> /Names << /JavaScript << /Names [(a) ${script}] >> >>`,
      page: `/AA << /O ${script} >> /Annots [<< ${link} /A << /S /URI /URI (javascript:${MARK}) >> >> << ${link} /A ${script} >>]`,
    }),
    // Text that a reader of fonts once made code of: a matrix with a string in it.
    "font.pdf": makePdf({
      pages: ["Font"],
      font: `<< /Type /Font /Subtype /Type1 /BaseFont /Evil /FirstChar 32 /LastChar 33 /Widths [500 500] /FontMatrix [1 2 3 4 5 (1\\); ${MARK}; //)] >>`,
    }),
    // A program of PostScript, for colours: it becomes code only where the page's policy would let it.
    "function.pdf": makePdf({
      pages: ["Function"],
      objects: [
        "<< /FunctionType 4 /Domain [0 1] /Range [0 1 0 1 0 1] /Length 27 >>\nstream\n{ dup 0.5 mul exch dup sub }\nendstream",
        "<< /ShadingType 2 /ColorSpace /DeviceRGB /Coords [0 0 612 0] /Function 3 0 R /Extend [true true] >>",
      ],
      page: "/Resources << /Font << /F1 5 0 R >> /Shading << /S1 4 0 R >> >>",
      content: "q 0 0 612 300 re W n /S1 sh Q",
    }),
    // A page of a size that no memory holds.
    "huge.pdf": makePdf({ pages: ["Huge"], page: "/MediaBox [0 0 9000000 9000000]" }),
    "evil.csv": `<img src=x onerror="${MARK}">,=HYPERLINK("javascript:${MARK}")\n<script>${MARK}</script>,@SUM(1)\n`,
  };
  for (const [name, text] of Object.entries(files)) await sandbox.client.files.write(name, text);
  const asked: string[] = [];
  page.on("request", (request) => asked.push(request.url()));
  await signIn(page, apiUrl, apiKey, `/sandboxes/${sandbox.id}/files`);
  for (const name of Object.keys(files).filter((one) => one.endsWith(".pdf"))) {
    await choose(page, name);
    await page
      .getByRole("img", { name: `Page 1 of ${name}` })
      .and(page.locator("[data-page='1']"))
      .waitFor();
    await page.locator(".pdf canvas").click({ force: true });
  }
  await choose(page, "evil.csv");
  await page.getByRole("cell", { name: "<script>" }).waitFor();
  expect(await page.locator(".csv").locator("img, script, a").count()).toBe(0);
  expect(await page.evaluate(() => document.documentElement.dataset.acted)).toBeUndefined();
  expect(page.url()).toBe(`${apiUrl}/dashboard/sandboxes/${sandbox.id}/files`);
  expect(asked.filter((url) => !url.startsWith(`${apiUrl}/`) && !url.startsWith("blob:"))).toEqual([]);
  expect([page.context().pages().length, browser.complaints]).toEqual([1, []]);
}, 90_000);
