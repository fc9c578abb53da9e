import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { openBrowser, signIn } from "../support/browser.ts";
import { fakeDashboard } from "../support/fake-dashboard.ts";
import { findings, fits, picture, shiftsOf, watchShifts } from "../support/page-looks.ts";

const VALUE = "the-value-that-nobody-sees-again";

test("secrets are stored, replaced and deleted from the page, and their values are on no page", async () => {
  await using dashboard = await fakeDashboard();
  const { server } = dashboard;
  await using browser = await openBrowser(server.url);
  const { page } = browser;
  const answers: string[] = [];
  page.on("response", async (response) => {
    if (response.url().includes("/dashboard/api/")) answers.push(await response.text().catch(() => ""));
  });
  await signIn(page, server.url, server.apiKey, "/secrets");
  await page.getByText("./boxyard secret create my-token < my-token.txt").waitFor();
  await picture(page, "secrets-empty");
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Store a secret" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("my-token");
  await dialog.getByLabel("Value").fill(`${VALUE}\nin two lines`);
  await dialog.getByLabel("Metadata").fill("owner=ada");
  await dialog.getByRole("button", { name: "Store" }).click();
  const row = page.getByRole("row", { name: /my-token/ });
  await row.getByText("owner=ada").waitFor();
  await row.getByRole("button", { name: "New value" }).click();
  await dialog.getByLabel("Value").fill(`${VALUE}-2`);
  await dialog.getByRole("button", { name: "Replace" }).click();
  await page.getByText("my-token has version 2").waitFor();
  const { body } = await server.call("GET", "/secrets/my-token");
  expect(body).toMatchObject({ name: "my-token", currentVersion: 2, metadata: { owner: "ada" } });
  expect([await page.content(), ...answers].some((text) => text.includes(VALUE))).toBe(false);
  // A name that is taken: the server's sentence is in the dialog, and what was typed stays.
  await page.getByRole("button", { name: "Store a secret" }).click();
  await dialog.getByLabel("Name").fill("my-token");
  await dialog.getByLabel("Value").fill("x");
  await dialog.getByRole("button", { name: "Store" }).click();
  await dialog.getByRole("alert").waitFor();
  await page.keyboard.press("Escape");
  await picture(page, "secrets");
  expect(await findings(page)).toEqual([]);
  await row.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("No secret is here").waitFor();
  expect([(await server.call("GET", "/secrets/my-token")).status, browser.complaints]).toEqual([404, []]);
}, 90_000);

test("events come by themselves, also after the stream broke, and are filtered", async () => {
  await using dashboard = await fakeDashboard();
  const { server } = dashboard;
  await using browser = await openBrowser(server.url);
  const { page } = browser;
  const { sandboxID } = await server.create();
  await server.call("POST", "/secrets", { name: "s1", value: "x" });
  // The first stream ends at once, and what happens meanwhile is not in the list that the page has.
  let missed = "";
  await page.route(/events\/stream/, async (route) => {
    missed = (await server.create()).sandboxID;
    await route.fulfill({ contentType: "text/event-stream", body: ": events\n\n" });
    await page.unroute(/events\/stream/);
  });
  await signIn(page, server.url, server.apiKey, "/events");
  const table = page.getByRole("table", { name: "Events" });
  const rows = async () => Number(await table.getAttribute("aria-rowcount")) - 1;
  await table.getByRole("row", { name: /secret.created/ }).waitFor();
  await eventually("what the broken stream has missed is there", async () => missed !== "" && (await table.getByText(missed).count()) > 0);
  await page.getByText("live", { exact: true }).waitFor();
  // A new one is there at once, on top, and nothing else moves: rows are placed, not pushed.
  await watchShifts(page);
  await server.call("DELETE", `/sandboxes/${sandboxID}`);
  await table.getByRole("row", { name: /sandbox.dead/ }).waitFor();
  // The count beside the filters may get another digit; a row that moved would be a hundred times that.
  const { sum, what } = await shiftsOf(page);
  expect([sum < 0.0005, sum < 0.0005 ? [] : what]).toEqual([true, []]);
  await picture(page, "events");
  expect(await findings(page)).toEqual([]);

  await page.getByLabel("Kind").selectOption("secret");
  await eventually("secrets alone are shown", async () => (await rows()) === 1);
  await page.getByLabel("Kind").selectOption("sandbox");
  await page.getByLabel("Action").selectOption("sandbox.dead");
  await eventually("ends alone are shown", async () => (await rows()) === 1);
  await page.getByLabel("Kind").selectOption("");
  await page.getByLabel("Target").fill(sandboxID);
  await eventually("the sandbox's events are shown", async () => (await rows()) === 4);
  await table
    .getByRole("row", { name: /sandbox.running/ })
    .getByRole("button", { name: "Details" })
    .click();
  await page.getByRole("dialog").getByText(sandboxID).waitFor();
  await page.getByRole("dialog").getByText("first").waitFor();
  expect(await findings(page)).toEqual([]);
  await page.keyboard.press("Escape");
  await page.getByLabel("Target").fill("");

  // A hidden page holds no stream, of which a browser has six for all its tabs; shown again, it has what it has missed.
  const turn = (state: "hidden" | "visible") =>
    page.evaluate((now) => {
      Object.defineProperty(document, "visibilityState", { configurable: true, get: () => now });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await page.getByText("live", { exact: true }).waitFor();
  await turn("hidden");
  await page.getByText("connecting", { exact: true }).waitFor();
  const { sandboxID: unseen } = await server.create();
  await turn("visible");
  await table.getByText(unseen).first().waitFor();

  // Held: what is shown stays; then what has come meanwhile is there.
  await page.getByText("live", { exact: true }).waitFor();
  await page.getByRole("button", { name: "Hold" }).click();
  const held = await rows();
  const second = await server.create();
  await eventually("the server has told it", async () => {
    const { body } = await server.call("GET", `/events?targetID=${second.sandboxID}`);
    return body.events.length === 2;
  });
  expect(await rows()).toBe(held);
  await page.getByRole("button", { name: "Go on" }).click();
  await eventually("what came meanwhile is shown", async () => (await rows()) >= held + 2);
  expect(browser.complaints).toEqual([]);
}, 90_000);

test("a webhook is made from the page; what was given up is listed with its reason and sent again", async () => {
  let isWell = false;
  const received: string[] = [];
  const receiver = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    fetch: async (request) => {
      if (!isWell) return new Response("closed for today", { status: 503 });
      received.push(((await request.json()) as { action: string }).action);
      return new Response("");
    },
  });
  const address = `http://127.0.0.1:${receiver.port}`;
  await using dashboard = await fakeDashboard({ env: { BOXYARD_WEBHOOK_HOSTS: address }, webhookBackoffMs: [10] });
  const { server } = dashboard;
  await using browser = await openBrowser(server.url);
  const { page } = browser;
  await signIn(page, server.url, server.apiKey, "/webhooks");
  await page.getByText("No webhook is here").waitFor();
  expect(await findings(page)).toEqual([]);
  await page.getByRole("button", { name: "Create a webhook" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Name").fill("ci");
  await dialog.getByLabel("Address").fill("http://10.1.2.3/hook");
  await dialog.getByLabel("Events").fill("secret volume");
  await dialog.getByRole("button", { name: "Create" }).click();
  // An address that the server does not send to is refused with the reason.
  await dialog.getByRole("alert").waitFor();
  await dialog.getByLabel("Address").fill(`${address}/hook`);
  await dialog.getByRole("button", { name: "Create" }).click();
  await page.getByRole("heading", { name: "The secret of ci" }).waitFor();
  expect((await page.getByLabel("secret", { exact: true }).locator("pre").textContent())?.length).toBeGreaterThan(20);
  await page.keyboard.press("Escape");
  for (const name of ["one", "two", "three"]) await server.call("POST", "/secrets", { name, value: "x" });
  const given = page.getByRole("row", { name: /ci/ }).getByRole("cell").last();
  await eventually("three were given up", async () => (await given.textContent()) === "3", { withinMs: 30_000 });
  await picture(page, "webhooks");
  expect(await findings(page)).toEqual([]);

  await page.getByRole("link", { name: "ci" }).click();
  await page
    .getByRole("row", { name: /secret.created.*503/ })
    .nth(2)
    .waitFor();
  await picture(page, "webhook");
  expect(await findings(page)).toEqual([]);
  isWell = true;
  await page.getByRole("button", { name: "Send again" }).first().click();
  await page.getByText("1 delivery is sent again").waitFor();
  await eventually("one has arrived", () => received.length === 1);
  await page.getByRole("button", { name: "Send all again" }).click();
  await page.getByText("Everything that was sent has arrived").waitFor();
  expect(received).toEqual(["secret.created", "secret.created", "secret.created"]);
  await page.getByRole("button", { name: "Turn off" }).click();
  await page.getByRole("button", { name: "Turn on" }).waitFor();
  await page.getByRole("button", { name: "Delete" }).click();
  await dialog.getByRole("button", { name: "Delete it" }).click();
  await page.getByText("No webhook is here").waitFor();
  expect([(await server.call("GET", "/events/webhooks")).body, browser.complaints]).toEqual([[], []]);
  await receiver.stop(true);
}, 90_000);

test("the new pages are in the palette, and fit a phone and the dark", async () => {
  await using dashboard = await fakeDashboard();
  const { server } = dashboard;
  await server.create();
  await server.call("POST", "/secrets", { name: "deploy-key", value: "x", metadata: { owner: "ada", of: "the deployment of the site" } });
  await server.call("POST", "/events/webhooks", { name: "ci", url: "https://hooks.example/boxyard/events", events: ["*"], enabled: false });
  await using dark = await openBrowser(server.url, { dark: true });
  await using phone = await openBrowser(server.url, { width: 390, height: 780 });
  const names = ["Secrets", "Events", "Webhooks"];
  await signIn(dark.page, server.url, server.apiKey);
  await signIn(phone.page, server.url, server.apiKey);
  for (const name of names) {
    // With the keyboard alone.
    await dark.page.keyboard.press("Control+k");
    await dark.page.getByRole("dialog").getByRole("combobox").fill(name);
    await dark.page.getByRole("dialog").getByRole("option", { name }).waitFor();
    await dark.page.keyboard.press("Enter");
    for (const [kind, { page }] of [["dark", dark] as const, ["phone", phone] as const]) {
      if (kind === "phone") await page.goto(`${server.url}/dashboard/${name.toLowerCase()}`);
      await page.getByRole("heading", { name, exact: true }).waitFor();
      await page.getByRole(name === "Events" ? "table" : "row", { name: name === "Events" ? name : /deploy-key|ci/ }).waitFor();
      await picture(page, `${name.toLowerCase()}-${kind}`);
      expect([name, kind, await findings(page), await fits(page)]).toEqual([name, kind, [], true]);
    }
  }
  expect([...dark.complaints, ...phone.complaints]).toEqual([]);
}, 120_000);
