import { expect, test } from "bun:test";
import { TestServer } from "../testing/test-server.ts";

test("the texts for language models need no key, and name the server's own address", async () => {
  await using s = await TestServer.start();
  const short = await fetch(`${s.url}/llms.txt`);
  expect([short.status, short.headers.get("content-type")]).toEqual([200, "text/plain; charset=utf-8"]);
  const text = await short.text();
  expect(text).toStartWith("# Boxyard\n\n> Boxyard runs code");
  expect(text).toContain(`npm install ${s.url}/sdk/npm.tgz`);
  expect(text).not.toContain("127.0.0.1:3000/");
  const links = [...text.matchAll(/\]\((http[^)]+)\)/g)].map((match) => match[1] ?? "");
  expect(links).toEqual([`${s.url}/llms-full.txt`, `${s.url}/openapi.json`, `${s.url}/openapi/agent.json`]);
  for (const link of links) expect((await fetch(link)).status).toBe(200);
  expect(await (await fetch(links[0] as string)).text()).toContain("Source: docs/sdk.md");
});
