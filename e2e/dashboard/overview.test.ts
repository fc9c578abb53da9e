import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { openBrowser, signIn } from "../support/browser.ts";
import { findings, picture } from "../support/page-looks.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

test("an empty server says the next step, and its program works as it stands", async () => {
  const { apiUrl, apiKey } = platform();
  await using browser = await openBrowser(apiUrl);
  const { page } = browser;
  await signIn(page, apiUrl, apiKey);
  await page.getByRole("heading", { name: "Your first sandbox" }).waitFor();
  await page.getByRole("button", { name: "Make a key and show the program" }).click();
  const program = page.getByRole("region", { name: "program" }).locator("pre");
  await program.waitFor();
  await picture(page, "overview-empty");
  expect(await findings(page)).toEqual([]);
  const text = (await program.textContent()) ?? "";
  const directory = mkdtempSync(join(tmpdir(), "boxyard-pasted-"));
  try {
    // A machine that knows nothing of this server but what is pasted.
    const { BOXYARD_API_URL: _, BOXYARD_API_KEY: __, ...env } = process.env;
    const child = Bun.spawn(["bash"], {
      cwd: directory,
      env,
      stdin: new TextEncoder().encode(`${text}\n`),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [said, failed, status] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
    expect([status, status === 0 ? "" : failed]).toEqual([0, ""]);
    expect(said).toContain("Linux");
  } finally {
    rmSync(directory, { recursive: true });
  }
  // It is counted without a reload, and its key is one of those that may be revoked.
  await page.getByText("1 in the last hour").waitFor();
  await eventually("the end of the sandbox is among the last events", async () =>
    (await page.getByRole("region", { name: "Last events" }).textContent())?.includes("sandbox.dead"),
  );
  const { body } = await platform().api({ path: "/api-keys" });
  const keys = body as { id: string; name: string; scopes: string[]; expiresAt?: string }[];
  const made = keys.filter(({ name }) => name === "first steps");
  expect(made.map(({ scopes, expiresAt }) => [scopes, typeof expiresAt])).toEqual([[["sandboxes"], "string"]]);
  for (const { id } of made) await platform().api({ method: "DELETE", path: `/api-keys/${id}` });
  expect(browser.complaints).toEqual([]);
}, 180_000);
