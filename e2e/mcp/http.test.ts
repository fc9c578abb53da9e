import { expect, test } from "bun:test";
import { ApiKeys, Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { boxyard } from "../cli/support.ts";
import { usePlatform } from "../support/platform.ts";
import { connected } from "./client.ts";

/** `/mcp` of a running server with the official client. */
const platform = usePlatform();
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const address = () => new URL("/mcp", platform().apiUrl);
const transportOf = (headers: Record<string, string>) => new StreamableHTTPClientTransport(address(), { requestInit: { headers } });
const open = async (headers: Record<string, string> = { "X-API-Key": platform().apiKey }) => {
  const transport = transportOf(headers);
  return { transport, mcp: await connected(transport) };
};

const idsOf = async () => (await Array.fromAsync(Sandbox.list(options()))).map(({ sandboxId }) => sandboxId);

test("an agent works over HTTP, with progress; its sandboxes end when it ends the session", async () => {
  const { transport, mcp } = await open({ Authorization: `Bearer ${platform().apiKey}` });
  await using _ = mcp;
  const id = await mcp.create();
  await mcp.text("write", { path: "a.txt", text: "x".repeat(5 << 20) });
  expect(await mcp.text("run", { command: "wc -c < a.txt" })).toEndWith("\n5242880\n");
  const seen: string[] = [];
  const running = mcp.client.callTool({ name: "run", arguments: { command: "echo begin; read x; echo $x", stdin: true } }, undefined, {
    onprogress: ({ message }) => void seen.push(message ?? ""),
  });
  await eventually("the first output is there", () => seen.join("").includes("begin"));
  const pid = Number(/^(\d+)\techo/m.exec(await mcp.text("processes"))?.[1]);
  await mcp.text("input", { pid, text: "end\n", wait_s: 0 });
  await running;
  expect(await mcp.text("expose", { port: 80 })).toContain(`${platform().apiUrl}/ports/${id}/80/`);
  await transport.terminateSession();
  await eventually("the sandbox has ended", async () => !(await idsOf()).includes(id));
}, 60_000);

test("docs/mcp.md: `boxyard env --agent http` prints an entry that works", async () => {
  const { url, headers } = JSON.parse((await boxyard(platform(), ["env", "--agent", "http"])).stdout).mcpServers.boxyard;
  await using mcp = await connected(new StreamableHTTPClientTransport(new URL(url), { requestInit: { headers } }));
  expect(await mcp.text("list")).toBe("No sandboxes. `create` makes one.");
}, 60_000);

const initialize = {
  jsonrpc: "2.0",
  id: 1,
  method: "initialize",
  params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo: { name: "raw", version: "1" } },
};
const post = (headers: Record<string, string>, body: unknown = initialize) =>
  fetch(address(), {
    method: "POST",
    headers: { "Content-Type": "application/json", Accept: "application/json, text/event-stream", ...headers },
    body: JSON.stringify(body),
  });

test("a key is needed, and only the session's own key leads to it", async () => {
  expect((await post({})).status).toBe(401);
  expect((await post({ Authorization: `Bearer e2b_${"0".repeat(40)}` })).status).toBe(401);
  expect((await fetch(address())).status).toBe(401);
  const { mcp, transport } = await open();
  await using _ = mcp;
  const session = transport.sessionId as string;
  const { key, keyId } = await ApiKeys.create("mcp-other", options()).then((made) => ({ key: made.key, keyId: made.id }));
  const ping = { jsonrpc: "2.0", id: 2, method: "ping" };
  expect((await post({ "X-API-Key": key, "Mcp-Session-Id": session }, ping)).status).toBe(404);
  expect((await post({ "X-API-Key": platform().apiKey, "Mcp-Session-Id": session }, ping)).status).toBe(200);
  const { mcp: second } = await open({ "X-API-Key": key });
  await ApiKeys.revoke(keyId, options());
  await expect(second.text("list")).rejects.toThrow();
  await transport.terminateSession();
  expect((await post({ "X-API-Key": platform().apiKey, "Mcp-Session-Id": session }, ping)).status).toBe(404);
  expect((await post({ "X-API-Key": platform().apiKey }, ping)).status).toBe(400);
}, 60_000);

test("pages of other origins, and of sandboxes, are refused", async () => {
  const withOrigin = async (origin: string) => (await post({ "X-API-Key": platform().apiKey, Origin: origin })).status;
  expect(await withOrigin("https://evil.example")).toBe(403);
  expect(await withOrigin("http://8000-i1234.localhost:3000")).toBe(403);
  expect(await withOrigin("null")).toBe(403);
  expect(await withOrigin("http://localhost:6274")).toBe(200);
}, 60_000);

test("sessions of a key are bounded", async () => {
  const key = await ApiKeys.create("mcp-many", options());
  const answers: Response[] = [];
  for (let i = 0; i < 17; i++) answers.push(await post({ "X-API-Key": key.key }));
  expect(answers.map(({ status }) => status)).toEqual([...new Array(16).fill(200), 429]);
  const refused = answers.at(-1);
  expect(refused?.headers.get("retry-after")).toBe("30");
  expect(await refused?.json()).toMatchObject({ error: { data: { limit: "mcpSessionsOfKey", value: 16 } } });
  expect((await post({ "X-API-Key": platform().apiKey })).status).toBe(200);
}, 60_000);

test("a server that stops ends the sessions; a client then begins another", async () => {
  const { mcp } = await open();
  await using _ = mcp;
  const id = await mcp.create();
  await platform().restart();
  expect(await idsOf()).not.toContain(id);
  await expect(mcp.text("list")).rejects.toThrow("no such session");
  const { mcp: next } = await open();
  await using __ = next;
  expect(await next.text("list")).not.toContain(id);
}, 60_000);
