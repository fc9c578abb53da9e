import { expect, test } from "bun:test";
import { createHash, randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { eventually } from "@boxyard/testkit";
import type { Page } from "playwright-core";
import { openBrowser, signIn } from "../support/browser.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

const isOpen = (page: Page) => page.locator(".terminal-view:not(.away)[data-state=open]").waitFor();

/** What the visible terminal shows. Its spaces may be of the kind that does not break a line. */
async function textOf(page: Page): Promise<string> {
  const rows = await page.locator(".terminal-view:not(.away) .xterm-rows > div").allTextContents();
  return rows.join("\n").replaceAll("\u00a0", " ");
}

/** Waits until the visible terminal shows a text. */
async function shows(page: Page, text: string): Promise<void> {
  await eventually(`the terminal shows '${text}'`, async () => (await textOf(page)).includes(text), {
    withinMs: 20_000,
    everyMs: 100,
  });
}

test("a terminal with vim, which a pause, a resume and a new page do not end; then a fork from the page", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform());
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await signIn(page, apiUrl, apiKey, `/sandboxes/${sandbox.id}`);
  await isOpen(page);
  await page.keyboard.type("vim poem.txt\n");
  await shows(page, "poem.txt");
  await page.keyboard.type("ithe first line");
  await page.keyboard.press("Escape");
  await page.keyboard.type(":w\n");
  await shows(page, "written");
  expect(await sandbox.client.files.read("poem.txt")).toBe("the first line\n");

  await page.getByRole("button", { name: "Pause" }).click();
  await page.getByText("The terminal goes on when it is resumed").waitFor();
  await page.getByRole("button", { name: "Resume" }).click();
  await isOpen(page);
  // Keys that are pressed while the terminal is being attached again are not kept.
  await eventually(
    "vim goes on after the resume",
    async () => {
      if ((await textOf(page)).includes("second")) return true;
      await page.keyboard.press("Escape");
      await page.keyboard.type("osecond");
      return false;
    },
    { everyMs: 1_000 },
  );
  await page.keyboard.press("Escape");
  await page.keyboard.type(":wq\n");
  await eventually("the file is saved after the resume", async () => (await sandbox.client.files.read("poem.txt")).includes("second"));

  // A page that is loaded again finds the shell, with what it had shown.
  await page.keyboard.type("echo $((6*7))-kept\n");
  await shows(page, "42-kept");
  await page.reload();
  await isOpen(page);
  await shows(page, "42-kept");
  await page.setViewportSize({ width: 1000, height: 700 });
  await eventually(
    "the shell knows the size of the window",
    async () => {
      await page.keyboard.type("stty size\n");
      const [rows, cols] =
        (await textOf(page))
          .match(/^\d+ \d+ *$/gm)
          ?.at(-1)
          ?.split(" ")
          .map(Number) ?? [];
      return rows !== undefined && cols !== undefined && rows > 10 && cols > 40 && cols < 120;
    },
    { everyMs: 300 },
  );

  await page.getByRole("button", { name: "Fork" }).click();
  await page.getByRole("dialog").getByRole("button", { name: "Fork" }).click();
  const fork = await eventually("the page of the fork", () => {
    const id = /sandboxes\/(i[a-z0-9]{20})/.exec(page.url())?.[1];
    return id !== sandbox.id && id;
  });
  await page.getByRole("heading", { name: fork }).waitFor();
  await isOpen(page);
  await page.locator(".terminal-view:not(.away) .xterm-screen").click();
  await page.keyboard.type("cat poem.txt\n");
  await shows(page, "second");
  expect(browser.complaints).toEqual([]);

  // The confirmation names the sandbox, and wants a part of its id.
  await page.getByRole("button", { name: "Kill" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByText(fork).first().waitFor();
  expect(await dialog.getByRole("button", { name: "Kill it" }).isDisabled()).toBe(true);
  await dialog.getByRole("textbox").fill(fork.slice(-4));
  await dialog.getByRole("button", { name: "Kill it" }).click();
  await page.getByRole("table", { name: "Sandboxes" }).waitFor();
  expect((await platform().api({ path: `/sandboxes/${fork}` })).status).toBe(404);
}, 120_000);

const hashOf = (data: Uint8Array) => createHash("sha256").update(data).digest("hex");

test("files: upload by drag, download, edit and save; processes, ports and logs", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform(), { metadata: { purpose: "files" } });
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  const data = randomBytes(300_000);
  await signIn(page, apiUrl, apiKey, `/sandboxes/${sandbox.id}/files`);
  await page.getByRole("treeitem", { name: ".bashrc" }).waitFor();
  const dropped = await page.evaluateHandle((base64) => {
    const transfer = new DataTransfer();
    transfer.items.add(new File([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], "data.bin"));
    return transfer;
  }, data.toString("base64"));
  await page.locator(".files").dispatchEvent("drop", { dataTransfer: dropped });
  await page.getByRole("treeitem", { name: "data.bin" }).click();
  expect(hashOf(await sandbox.client.files.read("data.bin", { format: "bytes" }))).toBe(hashOf(data));
  const [download] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download", exact: true }).click(),
  ]);
  expect([download.suggestedFilename(), hashOf(readFileSync(await download.path()))]).toEqual(["data.bin", hashOf(data)]);

  await sandbox.client.files.write("tree/deep/er/data.bin", new Blob([data]));
  await page.getByRole("button", { name: "Read the directories again" }).click();
  await page.getByRole("treeitem", { name: "tree" }).click();
  const [archive] = await Promise.all([
    page.waitForEvent("download"),
    page.getByRole("button", { name: "Download /home/user/tree as an archive" }).click(),
  ]);
  const packed = Bun.spawnSync(["tar", "-xOf", await archive.path(), "tree/deep/er/data.bin"]);
  expect([archive.suggestedFilename(), hashOf(packed.stdout)]).toEqual(["tree.tar", hashOf(data)]);

  await sandbox.client.files.write("notes.py", "print(1)\n");
  await page.getByRole("button", { name: "Read the directories again" }).click();
  await page.getByRole("treeitem", { name: "notes.py" }).click();
  await page.getByLabel("Content of notes.py").click();
  await page.keyboard.press("Control+End");
  await page.keyboard.type("print(2)");
  await page.keyboard.press("Control+s");
  await eventually("the file is saved", async () => (await sandbox.client.files.read("notes.py")) === "print(1)\nprint(2)");

  await sandbox.client.commands.run("python3 -m http.server 8123", { background: true });
  await page.getByRole("link", { name: "Processes" }).click();
  await page.getByRole("row", { name: /http.server 8123/ }).waitFor();
  await page.getByRole("link", { name: "Ports" }).click();
  await page.getByRole("row", { name: /8123/ }).getByRole("button", { name: "Preview" }).click();
  await page.frameLocator("iframe").getByText("Directory listing").waitFor();
  const frame = page.frames().find((one) => one.url().includes("8123-"));
  expect(await frame?.evaluate(() => [self.origin === "null", document.cookie])).toEqual([false, ""]);
  await page.getByRole("link", { name: "Processes" }).click();
  await page
    .getByRole("row", { name: /http.server 8123/ })
    .getByRole("button", { name: "Kill" })
    .click();
  await page.getByRole("dialog").getByRole("button", { name: "Kill it" }).click();
  await page.getByText("Nothing runs here").waitFor();
  await page.getByRole("link", { name: "Logs" }).click();
  await page.getByLabel("Search").fill("start");
  await page.getByRole("listitem").first().waitFor();
  expect(browser.complaints).toEqual([]);
}, 120_000);
