import { expect, test } from "bun:test";
import { openBrowser, signIn } from "../support/browser.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

test("a volume: made, filled by drag, looked at, changed, made larger, taken as a whole and deleted on its page", async () => {
  const { apiUrl, apiKey } = platform();
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await signIn(page, apiUrl, apiKey, "/volumes");
  await page.getByRole("button", { name: "Create a volume" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("of-the-page");
  await dialog.getByLabel("Size in MiB").fill("16");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "of-the-page" }).waitFor();
  const id = /volumes\/([^/]+)$/.exec(page.url())?.[1] ?? "";

  await page.getByRole("button", { name: "New directory in /" }).click();
  await dialog.getByLabel("Name, in /").fill("sub");
  await dialog.getByRole("button", { name: "Make it" }).click();
  await page.getByRole("treeitem", { name: "sub" }).click();
  const hostile = `<img src=x onerror="document.documentElement.dataset.acted='yes'">.csv`;
  const dropped = await page.evaluateHandle((name) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File(["a,b\n1,2\n"], name));
    return transfer;
  }, hostile);
  await page.locator(".files").dispatchEvent("drop", { dataTransfer: dropped });
  await page.getByRole("treeitem", { name: /onerror/ }).click();
  await page.getByRole("cell", { name: "2" }).waitFor();
  await page.getByRole("button", { name: "Text" }).click();
  await page.getByLabel(/^Content of/).click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("3,4");
  await page.keyboard.press("Control+s");
  await page.getByText("is saved").waitFor();
  await page.getByRole("button", { name: "Table" }).click();
  await page.getByRole("cell", { name: "4" }).waitFor();

  await page.getByRole("button", { name: "Resize" }).click();
  await dialog.getByLabel("Size in MiB").fill("32");
  await dialog.getByRole("button", { name: "Resize" }).click();
  await page.getByText("of 32 MiB").waitFor();
  const [download] = await Promise.all([page.waitForEvent("download"), page.getByRole("button", { name: "Download all" }).click()]);
  const unpacked = Bun.spawnSync(["tar", "-xOf", await download.path(), "--wildcards", "*sub/*.csv"]);
  expect([download.suggestedFilename(), unpacked.stdout.toString()]).toEqual(["of-the-page.tar", "a,b\n1,2\n3,4"]);
  await page.getByRole("button", { name: "Delete what is selected" }).click();
  await dialog.getByRole("button", { name: "Delete", exact: true }).click();
  await page.getByRole("treeitem", { name: /onerror/ }).waitFor({ state: "detached" });
  expect(await page.evaluate(() => document.documentElement.dataset.acted)).toBeUndefined();

  await page.locator(".actions").getByRole("button", { name: "Delete" }).click();
  await dialog.getByText("of-the-page").first().waitFor();
  await dialog.getByRole("button", { name: "Delete it" }).click();
  await page.getByRole("heading", { name: "Volumes" }).waitFor();
  expect([(await platform().api({ path: `/volumes/${id}` })).status, browser.complaints]).toEqual([404, []]);
}, 90_000);
