import { chmodSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BrowserContext, chromium, type Page } from "playwright-core";
import { loopbackNetwork } from "./loopback-network.ts";

/** The same as in chromium.ts: Debian's browser without a window, that looks for nothing by itself. Names below `localhost` lead to this machine. */
const ARGUMENTS = [
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-quic",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost, EXCLUDE *.localhost",
];

/** A browser in which a test drives pages as a person does. Disposing it closes it. */
export interface TestBrowser extends AsyncDisposable {
  readonly page: Page;
  readonly context: BrowserContext;
  /** What pages have said that must not happen: errors of scripts, and what the Content-Security-Policy has stopped. */
  readonly complaints: readonly string[];
}

export interface BrowserOptions {
  readonly dark?: boolean;
  readonly width?: number;
  readonly height?: number;
}

/** Opens a browser that reaches the server at `url`, with the ports of its sandboxes, and nothing else. */
export async function openBrowser(url: string, { dark = false, width = 1360, height = 860 }: BrowserOptions = {}): Promise<TestBrowser> {
  const profile = mkdtempSync(join(tmpdir(), "boxyard-browser-"));
  const network = await loopbackNetwork([Number(new URL(url).port)]);
  const program = join(profile, "chromium");
  writeFileSync(program, `#!/bin/sh\nexec ${network.command(["/usr/bin/chromium"]).join(" ")} "$@"\n`);
  chmodSync(program, 0o755);
  const context = await chromium.launchPersistentContext(join(profile, "profile"), {
    executablePath: program,
    args: ARGUMENTS,
    viewport: { width, height },
    colorScheme: dark ? "dark" : "light",
    locale: "en-GB",
    timezoneId: "Europe/Berlin",
    acceptDownloads: true,
    env: { PATH: "/usr/bin:/bin", HOME: profile },
  });
  const page = context.pages()[0] ?? (await context.newPage());
  const complaints: string[] = [];
  page.on("pageerror", (error) => complaints.push(String(error)));
  page.on("console", (message) => {
    if (/Content Security Policy|Refused to/i.test(message.text())) complaints.push(message.text());
  });
  page.setDefaultTimeout(20_000);
  return {
    page,
    context,
    complaints,
    async [Symbol.asyncDispose]() {
      await context.close();
      await network[Symbol.asyncDispose]();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** Opens the dashboard as the holder of a key, and shows a page of it. */
export async function signIn(page: Page, url: string, apiKey: string, at = ""): Promise<void> {
  await page.goto(`${url}/dashboard${at}`);
  await page.getByLabel("API key").fill(apiKey);
  await page.getByRole("button", { name: "Sign in" }).click();
  await page.getByRole("main").getByRole("heading").first().waitFor();
  await page.getByLabel("API key").waitFor({ state: "detached" });
}
