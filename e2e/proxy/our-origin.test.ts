import { expect, test } from "bun:test";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();

test("a page of a sandbox's at a signed address of the server's own origin is an attachment, sandboxed; text is shown", async () => {
  await using sandbox = await createSandbox(platform());
  await sandbox.client.files.write([
    { path: "page.html", data: "<script>1</script>" },
    { path: "notes.txt", data: "text" },
  ]);
  const get = async (path: string) => {
    const url = new URL(await sandbox.client.downloadUrl(path));
    // The client makes them for the server's own address.
    expect(url.origin).toBe(new URL(platform().apiUrl).origin);
    const reply = await fetch(url);
    const { headers } = reply;
    return [
      reply.status,
      headers.get("content-disposition"),
      headers.get("x-content-type-options"),
      headers.get("content-security-policy"),
    ];
  };
  expect(await get("page.html")).toEqual([200, expect.stringMatching(/^attachment; filename="?page.html/), "nosniff", "sandbox"]);
  expect(await get("notes.txt")).toEqual([200, expect.stringMatching(/^inline; filename="?notes.txt/), "nosniff", "sandbox"]);
});

test("the way to the dashboard, health and what is missing, as a browser and a program get them", async () => {
  const url = platform().apiUrl;
  const browser = { "User-Agent": "Mozilla/5.0", Accept: "text/html", "Sec-Fetch-Mode": "navigate" };
  const page = await fetch(url, { headers: browser, redirect: "manual" });
  expect([page.status, page.headers.get("location")]).toEqual([302, "/dashboard"]);
  expect((await fetch(url)).status).toBe(404);
  const health = await fetch(`${url}/health`);
  expect([health.status, await health.text()]).toEqual([200, "Health check successful"]);
  const missing = await fetch(url, { headers: { ...browser, "E2b-Sandbox-Id": "i00000000000000000000", "E2b-Sandbox-Port": "80" } });
  expect([missing.status, /<h1>(.*)<\/h1>/.exec(await missing.text())?.[1]]).toEqual([502, "Sandbox not found"]);
});
