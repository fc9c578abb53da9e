import { afterAll, beforeAll, expect, test } from "bun:test";
import { newSandboxId } from "@boxyard/core";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let id: string;
beforeAll(async () => {
  s = await TestServer.start();
  id = (await s.create()).sandboxID;
});
afterAll(() => s[Symbol.asyncDispose]());

test("fork and snapshots are known, and cannot be done yet: the sandbox goes on", async () => {
  for (const [method, path, body] of [
    ["POST", `/sandboxes/${id}/fork`, { count: 2 }],
    ["POST", `/sandboxes/${id}/snapshots`, { name: "mine" }],
  ] as const) {
    const { status, body: said } = await s.call(method, path, body);
    expect([path, status, said]).toEqual([
      path,
      501,
      { code: 501, message: expect.stringMatching(/^This server cannot .* yet$/), error_code: "not_yet" },
    ]);
  }
  expect((await s.call("GET", `/sandboxes/${id}`)).body.state).toBe("running");
});

test("there are no snapshots to list, which is an empty page", async () => {
  const { status, body, headers } = await s.call("GET", `/snapshots?sandboxID=${id}&limit=1`);
  expect([status, body, headers.get("x-next-token")]).toEqual([200, [], null]);
});

test("what else is wrong is said first", async () => {
  for (const verb of ["pause", "fork", "snapshots"]) {
    expect([verb, (await s.call("POST", `/sandboxes/${newSandboxId()}/${verb}`, {})).status]).toEqual([verb, 404]);
    expect([verb, (await s.call("POST", `/sandboxes/nonsense/${verb}`, {})).status]).toEqual([verb, 404]);
  }
  for (const count of [0, 101, 1.5]) expect((await s.call("POST", `/sandboxes/${id}/fork`, { count })).status).toBe(400);
  expect((await s.call("GET", "/snapshots?limit=0")).status).toBe(400);
});
