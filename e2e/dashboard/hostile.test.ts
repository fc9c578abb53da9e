import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { Page } from "playwright-core";
import { openBrowser, signIn } from "../support/browser.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

/** Text that becomes a script where it is taken for HTML, for an attribute or for an address. Each sets the same mark. */
const MARK = "document.documentElement.dataset.acted='yes'";
const HTML = `"'><img src=x onerror="${MARK}"><script>${MARK}</script>`;
const isUntouched = async (page: Page) => (await page.evaluate(() => document.documentElement.dataset.acted)) === undefined;

test("hostile metadata, file names, commands, titles, links and log lines are text and nothing else", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform(), { metadata: { note: HTML, link: `javascript:${MARK}` } });
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  const name = HTML.replaceAll("/", "_");
  await sandbox.client.files.write(name, HTML);
  await sandbox.client.files.write("picture.svg", `<svg xmlns="http://www.w3.org/2000/svg"><script>${MARK}</script></svg>`);
  await sandbox.client.commands.run(`exec -a ${JSON.stringify(HTML)} sleep 600`, { background: true, envs: { X: HTML } });
  await signIn(page, apiUrl, apiKey, "/sandboxes");
  await page.getByRole("cell", { name: /onerror/ }).waitFor();
  await page.getByRole("link", { name: sandbox.id }).click();
  await page.locator(".terminal-view[data-state=open]").waitFor();
  // The title of the terminal, a link of the terminal's own form, and what would write to the clipboard.
  await sandbox.client.files.write(
    "say.sh",
    [
      `printf '\\033]0;%s\\007' '${HTML.replaceAll("'", "")}'`,
      `printf '\\033]8;;javascript:${MARK.replaceAll("'", "")}\\033\\\\press\\033]8;;\\033\\\\\\n'`,
      `printf '\\033]52;c;aGFja2Vk\\007'`,
      `echo ${JSON.stringify("<b>said</b>")}; sleep 600`,
    ].join("\n"),
  );
  await page.keyboard.type("bash say.sh\n");
  await page.getByRole("button", { name: /img src=x/ }).waitFor();
  // Over the text lies the layer that takes the mouse.
  await page.locator(".xterm-rows").getByText("press", { exact: true }).click({ force: true });
  expect(await isUntouched(page)).toBe(true);

  await page.getByRole("link", { name: "Files" }).click();
  await page.getByRole("treeitem", { name: /onerror/ }).click();
  await page.getByLabel(/^Content of/).waitFor();
  await page.getByRole("treeitem", { name: "picture.svg" }).click();
  await page.getByRole("img", { name: "picture.svg" }).waitFor();
  for (const [tab, shown] of [
    ["Processes", /onerror/],
    ["Details", /javascript:/],
    ["Logs", /./],
  ] as const) {
    await page.getByRole("link", { name: tab }).click();
    await page.getByText(shown).first().waitFor();
  }
  expect([await isUntouched(page), browser.complaints]).toEqual([true, []]);
}, 90_000);

test("neither a page of another origin nor a page of a sandbox can act in the session", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await createSandbox(platform());
  await using browser = await openBrowser(apiUrl);
  const { page, context } = browser;
  await signIn(page, apiUrl, apiKey);
  const cookies = await context.cookies(`${apiUrl}/dashboard`);
  expect(cookies.map(({ httpOnly, sameSite, path }) => [httpOnly, sameSite, path])).toEqual([[true, "Strict", "/dashboard"]]);
  expect(await page.evaluate(() => document.cookie)).toBe("");
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain(apiKey);

  await sandbox.client.files.write("site/index.html", "<h1>A page of the sandbox</h1>");
  await sandbox.client.commands.run("cd site && python3 -m http.server 8000", { background: true });
  const token = await page.evaluate(() => localStorage.getItem("boxyard-page-token"));
  // Worse than a page can be: it knows the page's half of the session.
  const attack = ([url, pageToken]: [string, string]) => {
    const tries: RequestInit[] = [
      { credentials: "include" },
      { credentials: "include", mode: "no-cors" },
      { credentials: "include", headers: { "Boxyard-Dashboard": pageToken } },
      { credentials: "include", method: "POST", mode: "no-cors", body: "{}" },
    ];
    return Promise.all(
      tries.map((init) =>
        fetch(`${url}/dashboard/api/v2/sandboxes`, init).then(
          (response) => `${response.type} ${response.status}`,
          () => "failed",
        ),
      ),
    );
  };
  const local = new URL(apiUrl);
  const places = [`http://8000-${sandbox.id}.localhost:${local.port}/`, `${apiUrl}/ports/${sandbox.id}/8000/`];
  const before = (await platform().api({ path: "/v2/sandboxes" })).body as unknown[];
  for (const place of places) {
    const other = await context.newPage();
    await eventually("the site answers", async () => (await other.goto(place))?.status() === 200);
    for (const seen of await other.evaluate(attack, [apiUrl, token ?? ""] as [string, string])) {
      expect(["failed", "opaque 0", "cors 401", "cors 403"]).toContain(seen);
    }
    expect(await other.evaluate(() => window.opener)).toBeNull();
    // The dashboard cannot be framed by it.
    const framed = await other.evaluate(async (url) => {
      const frame = document.createElement("iframe");
      frame.src = `${url}/dashboard`;
      document.body.append(frame);
      await new Promise((resolve) => frame.addEventListener("load", resolve));
      return frame.contentDocument === null;
    }, apiUrl);
    expect(framed).toBe(true);
    await other.close();
  }
  expect(((await platform().api({ path: "/v2/sandboxes" })).body as unknown[]).length).toBe(before.length);
  // An answer of a sandbox cannot set a cookie of the dashboard's origin, also when its agent has been replaced.
  const kept = await page.evaluate(
    async ([id]) => {
      const headers = { "Svc-Sandbox-Id": id ?? "", "Svc-Sandbox-Port": "8001" };
      const answer = await fetch("/", { headers, credentials: "omit" });
      return answer.status;
    },
    [sandbox.id],
  );
  expect([200, 502]).toContain(kept);
  expect((await context.cookies(`${apiUrl}/dashboard`)).map(({ value }) => value)).toEqual(cookies.map(({ value }) => value));
}, 90_000);

test("a script that is not the dashboard's does not run, and a link signs in once", async () => {
  const { apiUrl, apiKey } = platform();
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  const answer = await fetch(`${apiUrl}/dashboard/own/links`, { method: "POST", headers: { "X-API-Key": apiKey } });
  const { url } = (await answer.json()) as { url: string };
  await page.goto(url);
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  expect(page.url()).toBe(`${apiUrl}/dashboard`);
  const ran = await page.evaluate(async (mark) => {
    const inline = document.createElement("div");
    inline.innerHTML = `<img src="x" onerror="${mark}"><a href="javascript:${mark}">a</a>`;
    document.body.append(inline);
    inline.querySelector("a")?.click();
    const results: string[] = [];
    for (const source of ["/ports/x/1/evil.js", "https://evil.example/evil.js", "data:text/javascript,1"]) {
      const template = document.createElement("template");
      template.innerHTML = `<iframe srcdoc="<script src='${source}'></script>"></iframe>`;
      document.body.append(template.content.cloneNode(true));
      results.push(source);
    }
    // The frames load one after another; a blocked script is an error event of its frame's document, and the load comes after it.
    await Promise.all(
      [...document.querySelectorAll("iframe")].map(
        (frame) =>
          new Promise((resolve) => {
            if (frame.contentDocument?.readyState === "complete") resolve(undefined);
            else frame.addEventListener("load", resolve);
          }),
      ),
    );
    return document.documentElement.dataset.acted ?? `no script of ${results.length} ran`;
  }, MARK);
  expect(ran).toBe("no script of 3 ran");
  expect(browser.complaints.length).toBeGreaterThan(0);
  await page.getByRole("button", { name: "Sign out" }).click();
  await page.getByLabel("API key").waitFor();
  await page.goto(url);
  await page.reload();
  await page
    .getByText(/has been used|sign in/i)
    .first()
    .waitFor();
  expect(await page.getByRole("navigation", { name: "Main" }).count()).toBe(0);
}, 60_000);
