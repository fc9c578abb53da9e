import { afterAll, beforeAll, expect, test } from "bun:test";
import { FAKE_API_KEY, FakePlatform } from "@boxyard/sdk/testing";
import { HttpSessions } from "./http.ts";

const platform = new FakePlatform();
let apiUrl = "";
beforeAll(async () => {
  apiUrl = await platform.start();
});
afterAll(() => platform.stop());

const caller = { keyId: "k", apiKey: FAKE_API_KEY, publicUrl: "http://x" };

/** Sessions with a clock of their own, and a request of the protocol. */
function start() {
  let time = 0;
  let id = 0;
  const sessions = new HttpSessions({ apiUrl: () => apiUrl, now: () => time });
  const ask = async (method: string, params: object, session?: string) => {
    const headers = {
      "Content-Type": "application/json",
      Accept: "application/json, text/event-stream",
      ...(session && { "Mcp-Session-Id": session }),
    };
    const response = await sessions.handle(new Request("http://x/mcp", { method: "POST", headers }), caller, {
      jsonrpc: "2.0",
      id: ++id,
      method,
      params,
    });
    return { status: response.status, session: response.headers.get("mcp-session-id") as string, text: await response.text() };
  };
  const later = (ms: number) => {
    time += ms;
  };
  const open = () => ask("initialize", { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "t", version: "1" } });
  return { sessions, ask, open, later };
}

test("a session that is idle for half an hour ends, with its sandboxes; one that is used does not", async () => {
  const { sessions, ask, open, later } = start();
  const { session: idle } = await open();
  const { session: used } = await open();
  const create = { name: "create", arguments: {} };
  await ask("tools/call", create, idle);
  expect(platform.sandboxes.size).toBe(1);
  later(20 * 60_000);
  await ask("tools/call", create, used);
  expect(platform.sandboxes.size).toBe(2);
  later(10 * 60_000);
  await sessions.endIdle();
  expect(platform.sandboxes.size).toBe(1);
  expect((await ask("ping", {}, idle)).status).toBe(404);
  expect((await ask("ping", {}, used)).status).toBe(200);
  await sessions.close();
  expect(platform.sandboxes.size).toBe(0);
});

test("a client that cannot begin leaves no session", async () => {
  const { sessions, open } = start();
  const body = {
    jsonrpc: "2.0",
    id: 1,
    method: "initialize",
    params: { protocolVersion: "1", capabilities: {}, clientInfo: { name: "t", version: "1" } },
  };
  for (let i = 0; i < 20; i++) {
    const request = new Request("http://x/mcp", { method: "POST", headers: { "Content-Type": "application/json" } });
    expect((await sessions.handle(request, caller, body)).status).toBe(406);
  }
  expect((await open()).status).toBe(200);
});

test("the sessions of a key end when it is revoked, those of other keys go on", async () => {
  const { sessions, ask, open } = start();
  const { session } = await open();
  await sessions.endOf("another");
  expect((await ask("ping", {}, session)).status).toBe(200);
  await sessions.endOf(caller.keyId);
  expect((await ask("ping", {}, session)).status).toBe(404);
  await sessions.close();
});

test("a session with a tool at work is not idle", async () => {
  const { sessions, ask, open, later } = start();
  const { session } = await open();
  await ask("tools/call", { name: "create", arguments: {} }, session);
  const started = await ask("tools/call", { name: "run", arguments: { command: "cat", stdin: true, wait_s: 0 } }, session);
  const pid = Number(/pid (\d+)/.exec(started.text)?.[1]);
  const waiting = ask("tools/call", { name: "wait", arguments: { pid } }, session);
  // Requests are taken in their order.
  await ask("ping", {}, session);
  later(60 * 60_000);
  await sessions.endIdle();
  await ask("tools/call", { name: "input", arguments: { pid, text: "some text\n", close: true } }, session);
  expect((await waiting).text).toContain("exit code 0");
  later(60 * 60_000);
  await sessions.endIdle();
  expect((await ask("ping", {}, session)).status).toBe(404);
});
