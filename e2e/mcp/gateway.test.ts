import { beforeAll, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import * as e2b from "e2b";
import { boxyard } from "../cli/support.ts";
import { usePlatform } from "../support/platform.ts";
import { connection, createSandbox, type HeldSandbox } from "../support/sandbox.ts";
import { connected } from "./client.ts";

/** The template `mcp-gateway` with the published client, which starts the gateway, and the official client of the protocol. */
const platform = usePlatform();
beforeAll(async () => {
  expect(await boxyard(platform(), ["template", "rebuild", "mcp-gateway"], { limitMs: 190_000 })).toMatchObject({ exitCode: 0 });
}, 200_000);

const urlOf = ({ client }: HeldSandbox) => `http://${client.getHost(50005)}/mcp`;
const bearer = (token: string | undefined) => ({ headers: { Authorization: `Bearer ${token}` } });
const toolsOf = (sandbox: HeldSandbox, token: string | undefined) =>
  connected(new StreamableHTTPClientTransport(new URL(urlOf(sandbox)), { requestInit: bearer(token) }));
const withServers = (mcp: Record<string, unknown>, options: e2b.SandboxOpts = {}) =>
  createSandbox(platform(), { ...options, mcp: mcp as NonNullable<e2b.SandboxOpts["mcp"]> }, "mcp-gateway");

test("the published client gets a gateway by `mcp` alone, and holders of its token get the tools of all its servers", async () => {
  const made = await e2b.Sandbox.create({ ...connection(platform()), mcp: { filesystem: { paths: ["/home/user"] }, memory: {} } });
  await made.kill();
  await using sandbox = await withServers({ filesystem: { paths: ["/home/user"] }, memory: {} });
  expect(sandbox.client.getMcpUrl()).toBe(urlOf(sandbox).replace("http:", "https:"));
  const token = await sandbox.client.getMcpToken();
  expect(await (await e2b.Sandbox.connect(sandbox.id, connection(platform()))).getMcpToken()).toBe(token);
  await using tools = await toolsOf(sandbox, token);
  const names = (await tools.client.listTools()).tools.map(({ name }) => name);
  expect(names).toEqual(expect.arrayContaining(["write_file", "create_entities"]));
  await tools.text("write_file", { path: "/home/user/note", content: "by a tool" });
  expect((await sandbox.asRoot("stat -c %U /home/user/note && cat /home/user/note")).stdout).toBe("user\nby a tool");
  expect(await tools.failure("write_file", { path: "/etc/note", content: "" })).toContain("outside allowed directories");
  const refused = await Promise.all([
    fetch(urlOf(sandbox), { method: "POST", body: "{}" }),
    fetch(urlOf(sandbox), { method: "POST", body: "{}", ...bearer("wrong") }),
    fetch(urlOf(sandbox), bearer(token)),
    fetch(`${urlOf(sandbox)}/other`, bearer(token)),
  ]);
  expect(refused.map(({ status }) => status)).toEqual([401, 401, 405, 404]);
}, 100_000);

const SERVER = `import { McpServer } from "/opt/boxyard/mcp-gateway/node_modules/@modelcontextprotocol/sdk/dist/esm/server/mcp.js";
import { StdioServerTransport } from "/opt/boxyard/mcp-gateway/node_modules/@modelcontextprotocol/sdk/dist/esm/server/stdio.js";
import { readFileSync } from "node:fs";
const server = new McpServer({ name: "greeter", version: "1" });
const text = () => process.env.GREETING + " " + readFileSync("installed", "utf8") + process.pid;
server.registerTool("greet", {}, () => ({ content: [{ type: "text", text: text() }] }));
await server.connect(new StdioServerTransport());
`;

test("a server of the caller's own is fetched, installed and run as the user, and started again by the next call after its end", async () => {
  await using sandbox = await createSandbox(platform(), {}, "mcp-gateway");
  await sandbox.client.files.write("/home/user/source/server.mjs", SERVER);
  const commit = "git init -q && git add . && git -c user.name=a -c user.email=a@b commit -qm first";
  await sandbox.client.commands.run(
    `cd source && ${commit} && git config --global url."file:///home/user/source".insteadOf "https://github.com/us/greeter"`,
  );
  const own = { runCmd: "node server.mjs", installCmd: "id -un > installed", envs: { GREETING: "hello" } };
  const config = JSON.stringify({
    "github/us/greeter": own,
    again: { runCmd: "cd source && echo again > installed && node server.mjs", envs: own.envs },
  });
  const start = () => sandbox.asRoot(`mcp-gateway --config '${config}'`, { envs: { GATEWAY_ACCESS_TOKEN: "token" } });
  expect(await start()).toMatchObject({ exitCode: 0, stderr: "" });
  await using tools = await toolsOf(sandbox, "token");
  expect((await tools.client.listTools()).tools.map(({ name }) => name)).toEqual(["greet", "again_greet"]);
  const [, pid] = /^hello user\n(\d+)$/.exec(await tools.text("greet")) ?? [];
  expect(await tools.text("again_greet")).toStartWith("hello again\n");
  expect(await sandbox.asRoot(`kill -9 ${pid}`)).toMatchObject({ exitCode: 0 });
  await eventually("the server runs again", async () => {
    const text = await tools.text("greet").catch(() => "");
    return text.startsWith("hello user\n") && !text.endsWith(`\n${pid}`);
  });
  expect((await start()).stderr).toContain("a gateway runs in this sandbox already");
}, 100_000);

test("what cannot be served is refused by the command with what to do, and no sandbox stays", async () => {
  const metadata = { gateway: crypto.randomUUID() };
  const failed = async (mcp: Record<string, unknown>) => String(await withServers(mcp, { metadata }).catch((error: unknown) => error));
  expect(await failed({ exa: { apiKey: "key" } })).toContain("this template has no MCP server 'exa'; it has filesystem, memory");
  expect(await failed({ mine: { runCmd: "exit 3" } })).toContain("the MCP server 'mine' did not start");
  expect(await e2b.Sandbox.list({ ...connection(platform()), query: { metadata } }).nextItems()).toEqual([]);
  await using sandbox = await createSandbox(platform(), {}, "mcp-gateway");
  const pull = (names: string) => sandbox.asRoot(`mcp-gateway pull ${names}`);
  expect(await pull("memory filesystem")).toMatchObject({ exitCode: 0 });
  expect((await pull("memory exa")).stderr).toContain("no MCP server 'exa'");
}, 100_000);
