import { expect, test } from "bun:test";
import { VERSION } from "@boxyard/core";
import { TestServer } from "../testing/test-server.ts";

test("a browser at the server's address gets a page whose links work, a program gets a 404", async () => {
  await using s = await TestServer.start();
  const reply = await fetch(s.url, { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" } });
  const page = await reply.text();
  expect([reply.status, reply.headers.get("content-type")]).toEqual([200, "text/html; charset=utf-8"]);
  expect(reply.headers.get("content-security-policy")).toContain("default-src 'none'");
  expect(page).toContain(`Boxyard ${VERSION}`);
  expect(page).toContain(`npm install ${s.url}/sdk/npm.tgz`);
  const links = [...page.matchAll(/href="([^"]+)"/g)].map((match) => match[1] ?? "");
  expect(links).toEqual(["/openapi.json", "/openapi/agent.json", "/llms.txt", "/health"]);
  for (const link of links) expect((await fetch(s.url + link)).status).toBe(200);
  expect(await (await fetch(s.url)).json()).toMatchObject({ code: 404, error_code: "no_such_route" });
});

test("the version is that of the package", async () => {
  expect(await Bun.file(`${import.meta.dir}/../../package.json`).json()).toMatchObject({ version: VERSION });
});
