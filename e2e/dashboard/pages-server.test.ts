import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import type { Page } from "playwright-core";
import { openBrowser, signIn } from "../support/browser.ts";
import { fakeDashboard } from "../support/fake-dashboard.ts";
import { findings, fits, picture, shiftsOf, watchShifts } from "../support/page-looks.ts";

/** The number under a name at the top of the overview. */
const figure = (page: Page, name: string) =>
  page.locator(".figure", { has: page.getByText(name, { exact: true }) }).locator(".figure-value");

test("the overview follows what happens, without a reload and without anything that moves", async () => {
  const little = { name: "disk", status: "warn" as const, found: "2 GiB are free", fix: "Make room on the disk" };
  await using dashboard = await fakeDashboard({ env: { BOXYARD_MAX_SANDBOXES: "5" }, fingerprint: async () => ({ checks: [little] }) });
  const { server } = dashboard;
  await using browser = await openBrowser(server.url);
  const { page } = browser;
  const first = await server.create();
  await signIn(page, server.url, server.apiKey);
  await page.getByText("Make room on the disk").waitFor();
  expect(await figure(page, "Server").textContent()).toBe("Warnings");
  expect(await figure(page, "Room for").textContent()).toBe("4 more");
  await page.getByRole("region", { name: "Last events" }).getByText("sandbox.running").waitFor();
  await watchShifts(page);
  for (let i = 0; i < 4; i++) await server.create();
  await server.call("POST", `/sandboxes/${first.sandboxID}/pause`, {});
  await eventually("four run", async () => (await figure(page, "Running").textContent()) === "4");
  await eventually("one is paused", async () => (await figure(page, "Paused").textContent()) === "1");
  await eventually("there is room for one more", async () => (await figure(page, "Room for").textContent()) === "1 more");
  await server.create();
  expect((await server.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  // It stands below what the page shows, and nothing above it has moved.
  await page.getByRole("region", { name: "Limits met" }).getByText("BOXYARD_MAX_SANDBOXES").waitFor();
  await page.getByText("6 in the last hour").waitFor();
  await page.getByRole("row", { name: /^create 6/ }).waitFor();
  const { sum, what } = await shiftsOf(page);
  expect([sum < 0.0005, sum < 0.0005 ? [] : what]).toEqual([true, []]);
  expect([await findings(page), browser.complaints]).toEqual([[], []]);
}, 90_000);

test("a key of another team sees its own things, and not the server's", async () => {
  await using dashboard = await fakeDashboard();
  const { server } = dashboard;
  const { key } = await server.team("research");
  await using browser = await openBrowser(server.url);
  const { page } = browser;
  await signIn(page, server.url, key);
  await page.getByText("of your team").waitFor();
  expect([await page.getByRole("heading", { name: "Doctor" }).count(), await page.getByRole("alert").count()]).toEqual([0, 0]);
  await page.goto(`${server.url}/dashboard/settings`);
  await page.getByText("Settings are for the operator").waitFor();
  expect([await findings(page), browser.complaints]).toEqual([[], []]);
}, 60_000);

test("the team's limits with their use, and the settings with where they come from", async () => {
  await using dashboard = await fakeDashboard({ env: { BOXYARD_MAX_SANDBOXES: "77", BOXYARD_LOG_FILES: "7" } });
  const { server } = dashboard;
  writeFileSync(join(server.config.dataDir, "service.env"), 'BOXYARD_LOG_FILES="7"\n');
  await server.call("PATCH", "/admin/teams/default", { limits: { sandboxes: 4 }, retention: { paused: { maxAgeHours: 720 } } });
  await using browser = await openBrowser(server.url);
  await using phone = await openBrowser(server.url, { width: 390, height: 780 });
  await using dark = await openBrowser(server.url, { dark: true });
  const { page } = browser;
  await signIn(page, server.url, server.apiKey);
  // With the keyboard alone.
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("team");
  await page.keyboard.press("Enter");
  await page.getByText("0 of 4, set for this team").waitFor();
  await server.create();
  await page.getByText("1 of 4, set for this team").waitFor();
  await page.getByText("paused.maxAgeHours").waitFor();
  expect(await findings(page)).toEqual([]);

  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("settings");
  await page.keyboard.press("Enter");
  const row = (name: string) => page.getByRole("row", { name: new RegExp(`^${name}\\b`) });
  const origin = (name: string) => row(name).locator(".badge").textContent();
  await row("BOXYARD_MAX_SANDBOXES").waitFor();
  expect(await origin("BOXYARD_MAX_SANDBOXES")).toBe("environment");
  expect(await row("BOXYARD_MAX_SANDBOXES").getByRole("cell").nth(1).textContent()).toBe("77");
  expect([await origin("BOXYARD_LOG_FILES"), await origin("BOXYARD_LOG_MAX_MIB")]).toEqual(["file", "default"]);
  expect(await findings(page)).toEqual([]);
  await page.getByLabel("Which").selectOption("set");
  await row("BOXYARD_LOG_MAX_MIB").waitFor({ state: "detached" });
  await page.getByLabel("Search").fill("log files");
  await row("BOXYARD_LOG_FILES").waitFor();
  await row("BOXYARD_MAX_SANDBOXES").waitFor({ state: "detached" });
  for (const [kind, { page: other }] of [["phone", phone] as const, ["dark", dark] as const]) {
    await signIn(other, server.url, server.apiKey);
    for (const [path, name] of [
      ["team", "Team"],
      ["settings", "Settings"],
    ] as const) {
      await other.goto(`${server.url}/dashboard/${path}`);
      await other.getByRole("heading", { name, exact: true }).waitFor();
      await other
        .getByText(path === "team" ? "1 of 4" : "BOXYARD_MAX_SANDBOXES")
        .first()
        .waitFor();
      await picture(other, `${path}-${kind}`);
      expect([path, kind, await findings(other), await fits(other)]).toEqual([path, kind, [], true]);
    }
  }
  expect([...browser.complaints, ...phone.complaints, ...dark.complaints]).toEqual([]);
}, 120_000);
