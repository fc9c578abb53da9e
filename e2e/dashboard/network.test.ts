import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { openBrowser, signIn } from "../support/browser.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

interface Detail {
  readonly name?: string;
  readonly cpuCount: number;
  readonly memoryMB: number;
  readonly endAt: string;
  readonly idleTimeout?: number;
  readonly network: { readonly preset?: string; readonly allowOut?: string[]; readonly denyOut?: string[] };
}

test("a sandbox with a name, a size and rules from the page; then other rules, the record with search, another size and name", async () => {
  const { apiUrl, apiKey } = platform();
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await signIn(page, apiUrl, apiKey, "/sandboxes?new");
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name", { exact: true }).fill("from-a-form");
  await dialog.getByText("Size", { exact: true }).click();
  await dialog.getByLabel("CPUs").fill("0.5");
  await dialog.getByLabel("Memory in MiB").fill("256");
  await dialog.getByText("Network", { exact: true }).click();
  await dialog.getByLabel("It may reach").selectOption("none");
  await dialog.getByLabel("Allowed").fill("not a name");
  await dialog.getByRole("button", { name: "Create" }).click();
  await dialog.getByText("Allowed, line 1 ('not a name')").waitFor();
  await dialog.getByLabel("Allowed").fill("a.example");
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.locator(".terminal-view[data-state=open]").waitFor();
  const id = /sandboxes\/(i[a-z0-9]{20})/.exec(page.url())?.[1] ?? "";
  const detail = async () => (await platform().api({ path: `/sandboxes/${id}` })).body as Detail;
  const made = await detail();
  expect([made.name, made.cpuCount, made.memoryMB, made.network.preset, made.network.allowOut]).toEqual([
    ...["from-a-form", 0.5, 256, "none", ["a.example"]],
  ]);

  await page.getByRole("link", { name: "Network" }).click();
  await page.getByText("No attempt").waitFor();
  await using client = await Sandbox.connect(id, { apiUrl, apiKey });
  await client.commands.run("getent hosts denied.invalid; exec 3<>/dev/tcp/192.0.2.1/25; true");
  const attempts = page.getByRole("list", { name: "Attempts, the newest first" }).getByRole("listitem");
  await attempts.filter({ hasText: "dns denied.invalid" }).first().waitFor();
  await attempts.filter({ hasText: "192.0.2.1:25" }).first().waitFor();
  await page.getByLabel("Search the record").fill("192.0.2");
  await eventually("the search leaves what matches", async () => {
    const texts = await attempts.allTextContents();
    return texts.length > 0 && texts.every((text) => text.includes("192.0.2.1"));
  });
  await page.getByLabel("Verdict").selectOption("allowed");
  await page.getByText("No attempt matches").waitFor();

  await page.getByLabel("Allowed").fill("*.b.example\n198.51.100.0/40");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByRole("alert").getByText("Allowed, line 2 ('198.51.100.0/40')").waitFor();
  expect((await detail()).network.allowOut).toEqual(["a.example"]);
  await page.getByLabel("Allowed").fill("*.b.example\n198.51.100.0/24");
  await page.getByLabel("Denied").fill("198.51.100.9");
  await page.getByRole("button", { name: "Apply" }).click();
  await page.getByText("The new rules hold").waitFor();
  expect((await detail()).network).toMatchObject({
    preset: "none",
    allowOut: ["*.b.example", "198.51.100.0/24"],
    denyOut: ["198.51.100.9"],
  });
  await page.getByRole("button", { name: "Suggest" }).click();
  await page.getByText("The form has what it tried").waitFor();
  expect(await page.getByLabel("Allowed").inputValue()).toContain("denied.invalid");

  await page.getByRole("button", { name: "Resize" }).click();
  await dialog.getByLabel("Memory in MiB").fill("320");
  await dialog.getByRole("button", { name: "Resize" }).click();
  await page.getByText("The new size holds").waitFor();
  expect([(await detail()).memoryMB, (await detail()).cpuCount]).toEqual([320, 0.5]);
  await page.getByRole("button", { name: "Rename" }).click();
  await dialog.getByLabel("Name").fill("other-name");
  await dialog.getByRole("button", { name: "Rename" }).click();
  await page.locator(".subtitle").getByText("other-name").waitFor();
  await page.getByRole("button", { name: "Lifetime" }).click();
  // Without a number nothing is sent: 0 minutes would end the sandbox.
  await dialog.getByLabel("Minutes from now").fill("");
  await dialog.getByRole("button", { name: "Set" }).click();
  expect(await dialog.locator("input:invalid").count()).toBe(1);
  await dialog.getByLabel("Minutes from now").fill("90");
  await dialog.getByLabel("Minutes without use").fill("30");
  await dialog.getByRole("button", { name: "Set" }).click();
  await page.getByText("It ends in 90 minutes").waitFor();
  const changed = await detail();
  expect([changed.idleTimeout, Date.parse(changed.endAt) - Date.parse(made.endAt) > 3_600_000]).toEqual([1800, true]);
  await page.goto(`${apiUrl}/dashboard/sandboxes`);
  await page.getByLabel("Search").fill("other-na");
  await page.getByRole("link", { name: "other-name" }).waitFor();
  expect(browser.complaints).toEqual([]);
  await client.kill();
}, 120_000);
