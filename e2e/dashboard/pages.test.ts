import { expect, test } from "bun:test";
import type { Locator, Page } from "playwright-core";
import { openBrowser, signIn } from "../support/browser.ts";
import { findings, picture } from "../support/page-looks.ts";
import { makePdf } from "../support/pdf.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

interface Look {
  readonly name: string;
  /** Place below /dashboard; none: the page as it is. */
  readonly at?: string;
  /** What is there when the page is ready. */
  readonly ready: (page: Page) => Promise<unknown>;
}

const heading = (name: string) => (page: Page) => page.getByRole("heading", { name, exact: true }).first().waitFor();

function looksOf({ id }: HeldSandbox): Look[] {
  const at = `/sandboxes/${id}`;
  return [
    { name: "overview", at: "", ready: openOverview },
    { name: "sandboxes", at: "/sandboxes", ready: (page) => page.getByRole("link", { name: id }).waitFor() },
    { name: "create", at: "/sandboxes?new", ready: heading("Create a sandbox") },
    { name: "terminal", at, ready: openTerminal },
    { name: "files", at: `${at}/files`, ready: openFile },
    { name: "table", at: `${at}/files`, ready: (page) => openPreview(page, "cities.csv", page.getByRole("cell", { name: "Lagos" })) },
    { name: "pdf", at: `${at}/files`, ready: (page) => openPreview(page, "paper.pdf", page.locator(".pdf canvas[data-page='1']")) },
    { name: "processes", at: `${at}/processes`, ready: (page) => page.getByRole("row", { name: /sleep 600/ }).waitFor() },
    { name: "metrics", at: `${at}/metrics`, ready: (page) => page.locator(".u-wrap").nth(2).waitFor() },
    { name: "logs", at: `${at}/logs`, ready: (page) => page.getByRole("listitem").first().waitFor() },
    { name: "network", at: `${at}/network`, ready: heading("What it may reach") },
    { name: "ports", at: `${at}/ports`, ready: (page) => page.getByRole("row", { name: /8000/ }).waitFor() },
    { name: "details", at: `${at}/details`, ready: heading("Facts") },
    { name: "templates", at: "/templates", ready: (page) => page.getByRole("link", { name: "base" }).waitFor() },
    { name: "template", at: "/templates/base", ready: heading("Builds") },
    { name: "dockerfile", at: "/templates?dockerfile", ready: (page) => page.getByLabel("Content of Dockerfile").waitFor() },
    { name: "snapshots", at: "/snapshots", ready: (page) => page.getByRole("row", { name: /for-the-page/ }).waitFor() },
    { name: "volumes", at: "/volumes", ready: (page) => page.getByRole("row", { name: /page-data/ }).waitFor() },
    { name: "volume", ready: openVolume },
    { name: "keys", at: "/keys", ready: (page) => page.getByRole("row", { name: /first/ }).waitFor() },
    { name: "team", at: "/team", ready: heading("What the team may have, and has") },
    { name: "settings", at: "/settings", ready: (page) => page.getByRole("row", { name: /^BOXYARD_DATA/ }).waitFor() },
    { name: "palette", ready: openPalette },
  ];
}

async function openOverview(page: Page): Promise<void> {
  await page.getByRole("region", { name: "Last events" }).getByText("sandbox.running").first().waitFor();
  await page.getByRole("heading", { name: "Doctor" }).waitFor();
}

async function openTerminal(page: Page): Promise<void> {
  await page.locator(".terminal-view[data-state=open]").waitFor();
  await page.keyboard.type("clear; python3 -c 'print(6*7)'; ls --color=always /\n");
  await page.locator(".xterm-rows").getByText("42").first().waitFor();
}

async function openFile(page: Page): Promise<void> {
  await page.getByRole("treeitem", { name: "primes.py" }).click();
  await page.getByLabel("Content of primes.py").waitFor();
}

async function openVolume(page: Page): Promise<void> {
  await page.getByRole("link", { name: "page-data" }).click();
  await page.getByText("This directory is empty").waitFor();
}

async function openPreview(page: Page, name: string, shown: Locator): Promise<void> {
  await page.getByRole("treeitem", { name }).click();
  await shown.waitFor();
}

async function openPalette(page: Page): Promise<void> {
  await page.keyboard.press("Control+k");
  await page.getByRole("dialog").getByRole("combobox").fill("s");
  await page.getByRole("dialog").getByRole("option").first().waitFor();
}

const PROGRAM = `def primes(limit):
    """All primes below a limit."""
    sieve = [True] * limit
    for n in range(2, limit):
        if sieve[n]:
            yield n
            sieve[n * n :: n] = [False] * len(sieve[n * n :: n])


print(list(primes(100)))
`;

/** A sandbox in which there is something to see on each page. */
async function furnished(): Promise<HeldSandbox> {
  const sandbox = await createSandbox(platform(), { metadata: { user: "ada", purpose: "demo" }, timeoutMs: 3_600_000 });
  await sandbox.client.files.write("primes.py", PROGRAM);
  await sandbox.client.files.write("cities.csv", "city,country,people\nLagos,Nigeria,15388000\nLima,Peru,10719000\nOslo,Norway,709000\n");
  await sandbox.client.files.write("paper.pdf", makePdf({ pages: ["On primes", "More of them"] }));
  await sandbox.client.commands.run("sleep 600", { background: true });
  await sandbox.client.commands.run("python3 -m http.server 8000", { background: true });
  await sandbox.client.createSnapshot({ name: "for-the-page" });
  await platform().api({ method: "POST", path: "/volumes", body: { name: "page-data", sizeMB: 64 } });
  return sandbox;
}

async function clean(): Promise<void> {
  const { body: volumes } = await platform().api({ path: "/volumes" });
  for (const { volumeID } of volumes as { volumeID: string }[]) await platform().api({ method: "DELETE", path: `/volumes/${volumeID}` });
  const { body: snapshots } = await platform().api({ path: "/snapshots" });
  for (const { snapshotID } of snapshots as { snapshotID: string }[]) {
    await platform().api({ method: "DELETE", path: `/templates/${encodeURIComponent(snapshotID)}` });
  }
}

test("axe finds nothing on any page, light or dark, wide or narrow, and the policy of the page is kept", async () => {
  const { apiUrl, apiKey } = platform();
  const found: Record<string, string[]> = {};
  {
    await using sandbox = await furnished();
    await using light = await openBrowser(apiUrl);
    await using dark = await openBrowser(apiUrl, { dark: true });
    await using phone = await openBrowser(apiUrl, { width: 390, height: 780 });
    await light.page.goto(`${apiUrl}/dashboard`);
    await light.page.getByLabel("API key").waitFor();
    await picture(light.page, "sign-in");
    found["sign-in"] = await findings(light.page);
    for (const { page } of [light, dark, phone]) await signIn(page, apiUrl, apiKey);
    for (const { name, at, ready } of looksOf(sandbox)) {
      if (at !== undefined) await light.page.goto(`${apiUrl}/dashboard${at}`);
      await ready(light.page);
      await picture(light.page, name);
      found[name] = await findings(light.page);
    }
    for (const name of ["overview", "sandboxes", "terminal", "files", "network", "pdf", "template", "dockerfile"]) {
      const look = looksOf(sandbox).find((one) => one.name === name) as Look;
      for (const [kind, { page }] of [["dark", dark] as const, ["phone", phone] as const]) {
        await page.goto(`${apiUrl}/dashboard${look.at}`);
        await look.ready(page);
        await picture(page, `${name}-${kind}`);
        found[`${name} ${kind}`] = await findings(page);
        expect(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth)).toBe(true);
        // Parts of a page stay reachable where its content is taller than the screen.
        for (const tabs of await page.locator(".tabs").all()) expect((await tabs.boundingBox())?.height).toBeGreaterThan(30);
      }
    }
    expect([...light.complaints, ...dark.complaints, ...phone.complaints]).toEqual([]);
  }
  await clean();
  expect(Object.fromEntries(Object.entries(found).filter(([, list]) => list.length > 0))).toEqual({});
}, 180_000);
