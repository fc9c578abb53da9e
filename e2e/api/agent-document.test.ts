import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { envelope } from "../agent/support/rpc.ts";
import { OpenApiDocument } from "../support/openapi.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform();
const NOBODY = "i00000000000000000000";

interface Call {
  readonly query?: string;
  readonly body?: BodyInit;
  readonly type?: string;
  readonly headers?: Record<string, string>;
}

function caller(document: OpenApiDocument, id: string, token: string | undefined) {
  return async (name: string, { query = "", body, type = "application/json", headers = {} }: Call = {}): Promise<unknown> => {
    const [method = "", path = ""] = name.split(" ");
    const response = await fetch(`${platform().apiUrl}${path}${query}`, {
      method: method.toUpperCase(),
      ...(body !== undefined && { body }),
      headers: {
        "Svc-Sandbox-Id": id,
        "Svc-Sandbox-Port": "49983",
        ...(token && { "X-Access-Token": token }),
        ...(body !== undefined && { "Content-Type": type }),
        Authorization: `Basic ${btoa("user:")}`,
        ...headers,
      },
    });
    return document.check(name, response);
  };
}

test("operation names and tags are those that clients know", async () => {
  const document = await OpenApiDocument.fetch(`${platform().apiUrl}/openapi/agent.json`);
  expect(document.operation("post /files/compose")).toMatchObject({ operationId: "postFilesCompose", tags: ["Filesystem"] });
  expect(document.operation("post /freeze")).toMatchObject({ tags: ["Envd"] });
  expect(document.operation("post /process.Process/Start")).toMatchObject({ tags: ["Process"] });
});

test("every operation of a real sandbox answers as the agent's document says", async () => {
  const document = await OpenApiDocument.fetch(`${platform().apiUrl}/openapi/agent.json`);
  await using sandbox = await createSandbox(platform());
  // biome-ignore lint/suspicious/noExplicitAny: the public client keeps the token to itself.
  const call = caller(document, sandbox.id, (sandbox.client as any).envdAccessToken);
  const rpc = (name: string, message: object) => call(`post /${name}`, { body: JSON.stringify(message) });
  const stream = (name: string, ...messages: object[]) =>
    call(`post /${name}`, { body: new Blob(messages.map((message) => envelope(message))), type: "application/connect+json" });
  const raw = { type: "application/octet-stream", body: "text" };

  await call("get /health");
  await call("get /metrics");
  await call("get /envs");
  expect(
    await call("post /files", { ...{ type: "application/octet-stream", body: "x" }, query: "?path=/proc/sys/kernel/ostype" }),
  ).toMatchObject({ code: 403 });
  expect(await call("post /files", { ...raw, query: "?path=a", headers: { "X-Metadata-Kind": "note" } })).toEqual([
    { path: "/home/user/a", name: "a", type: "file", metadata: { kind: "note" } },
  ]);
  await call("post /files", { ...raw, query: "?path=b" });
  await call("post /files", raw);
  await call("get /files", { query: "?path=a" });
  await call("get /files", { query: "?path=nowhere" });
  expect(await call("get /files", { query: "?path=a", headers: { "If-Match": '"other"' } })).toMatchObject({ code: 412 });
  expect(await call("get /files", { query: "?path=a", headers: { Range: "bytes=99-" } })).toMatchObject({ code: 416 });
  const compose = (source_paths: readonly string[], username?: string) =>
    call("post /files/compose", { body: JSON.stringify({ source_paths, destination: "c", ...(username && { username }) }) });
  expect(await compose(["a", "b"])).toEqual({ path: "/home/user/c", name: "c", type: "file" });
  expect(await compose(["a"])).toMatchObject({ code: 404 });
  expect(await compose([])).toMatchObject({ code: 400 });
  expect(await compose(["c"], "nobody-such")).toMatchObject({ code: 401 });
  await call("post /freeze", { query: "?maxWaitMs=2000" });
  await call("post /unfreeze");
  await call("post /freeze");
  await call("post /unfreeze");

  await stream("process.Process/Start", { process: { cmd: "/bin/echo", args: ["hello"] }, stdin: false });
  await stream("process.Process/Start", { process: { cmd: "sh", args: ["-c", "exit 3"] }, pty: { size: { cols: 80, rows: 24 } } });
  const { pid } = await sandbox.client.commands.run("cat", { background: true, stdin: true });
  const process = { pid };
  await rpc("process.Process/List", {});
  await rpc("process.Process/SendInput", { process, input: { stdin: btoa("one\n") } });
  // Input for a terminal that the process does not have is `internal` by the contract, and the agent logs such errors.
  expect(await rpc("process.Process/SendInput", { process, input: { pty: btoa("x") } })).toMatchObject({ code: "internal" });
  expect(await call("get /boxyard/log")).toEqual([expect.stringMatching(/^\d{4}-\S+Z rpc failed: /)]);
  expect(await call("get /boxyard/journal", { query: "?after=0" })).toMatchObject({
    entries: expect.arrayContaining([
      expect.objectContaining({ kind: "started", text: "/bin/echo hello" }),
      expect.objectContaining({ kind: "ended", text: "exit status 3: sh -c exit 3", exitCode: 3 }),
    ]),
  });
  await using ours = await Sandbox.connect(sandbox.id, { apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  expect(await ours.getAgentLog()).toHaveLength(1);
  await stream("process.Process/StreamInput", { start: { process } }, { data: { input: { stdin: btoa("two\n") } } });
  await rpc("process.Process/Update", { process: { pid: 999_999 }, pty: { size: { cols: 1, rows: 1 } } });
  await rpc("process.Process/CloseStdin", { process });
  await stream("process.Process/Connect", { process });
  expect(await rpc("process.Process/SendSignal", { process: { pid: 999_999 }, signal: "SIGNAL_SIGKILL" })).toMatchObject({
    code: "not_found",
  });

  await rpc("filesystem.Filesystem/Stat", { path: "c" });
  await rpc("filesystem.Filesystem/MakeDir", { path: "d/e" });
  await rpc("filesystem.Filesystem/MakeDir", { path: "d/e" });
  await rpc("filesystem.Filesystem/Move", { source: "c", destination: "d/c" });
  expect(await rpc("filesystem.Filesystem/ListDir", { path: "d", depth: 2 })).toMatchObject({ entries: [{}, {}] });
  const watcher = (await rpc("filesystem.Filesystem/CreateWatcher", { path: "d", recursive: true })) as { watcherId: string };
  await call("post /files", { ...raw, query: "?path=d/new" });
  expect(await rpc("filesystem.Filesystem/GetWatcherEvents", watcher)).toMatchObject({ events: expect.any(Array) });
  await rpc("filesystem.Filesystem/RemoveWatcher", watcher);
  await call("post /filesystem.Filesystem/WatchDir", {
    body: new Blob([envelope({ path: "d" })]),
    type: "application/connect+json",
    headers: { "Connect-Timeout-Ms": "300" },
  });
  await call("get /boxyard/archive", { query: "?path=d" });
  expect(await call("get /boxyard/archive", { query: "?path=nowhere" })).toMatchObject({ code: 404 });
  await rpc("filesystem.Filesystem/Remove", { path: "d" });

  const stranger = caller(document, sandbox.id, undefined);
  await stranger("get /metrics");
  await stranger("post /files/compose", { body: "{}" });
  await caller(document, NOBODY, "none")("post /files/compose", { body: "{}" });
  expect([...document.seen].sort()).toEqual(document.operations.sort());
});

test("a body that does not fit is noticed", async () => {
  const document = await OpenApiDocument.fetch(`${platform().apiUrl}/openapi/agent.json`);
  expect(document.problems({ $ref: "#/components/schemas/EntryInfo" }, { path: "a", name: "a", type: "device" })).toHaveLength(1);
});
