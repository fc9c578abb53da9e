import { expect, test } from "bun:test";
import { VERSION } from "@boxyard/core";
import { TestServer } from "../testing/test-server.ts";

test("a browser at the server's address is led to the dashboard, a program gets a 404; what the dashboard links to is there", async () => {
  await using s = await TestServer.start();
  const reply = await fetch(s.url, { headers: { Accept: "text/html,application/xhtml+xml,*/*;q=0.8" }, redirect: "manual" });
  expect([reply.status, reply.headers.get("location")]).toEqual([302, "/dashboard"]);
  for (const link of ["/openapi.json", "/openapi/agent.json", "/llms.txt"]) expect((await fetch(s.url + link)).status).toBe(200);
  expect(await (await fetch(s.url)).json()).toMatchObject({ code: 404, error_code: "no_such_route" });
});

test("the version is that of the package", async () => {
  expect(await Bun.file(`${import.meta.dir}/../../package.json`).json()).toMatchObject({ version: VERSION });
});
