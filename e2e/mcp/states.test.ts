import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { connected, stdioOf } from "./client.ts";

/** The tools that change or copy a sandbox as a whole, search, ports and resources. */
const platform = usePlatform();
const start = () => connected(stdioOf(platform()));
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

test("snapshot, rollback, and a sandbox from a snapshot", async () => {
  let unnamed = "";
  {
    await using mcp = await start();
    const first = await mcp.create();
    await mcp.text("write", { path: "state", text: "before" });
    unnamed = /Snapshot (\S+) of/.exec(await mcp.text("snapshot"))?.[1] as string;
    const named = await mcp.text("snapshot", { name: "mcp-named" });
    expect(named).toContain("mcp-named");
    await mcp.text("write", { path: "state", text: "after" });
    await mcp.text("rollback", { snapshot: unnamed });
    expect(await mcp.text("read", { path: "state" })).toBe("before");
    const second = await mcp.create({ from: "mcp-named" });
    expect(await mcp.failure("read", { path: "state" })).toContain(`several sandboxes: ${first}, ${second}. Say which one in \`sandbox\`.`);
    expect(await mcp.text("read", { sandbox: second, path: "state" })).toBe("before");
    expect(await mcp.failure("rollback", { sandbox: first, snapshot: "nothing" })).toContain("`snapshot` makes one");
  }
  const own = ["default/mcp-named:default", unnamed];
  // Other tests leave snapshots in the same data directory.
  const names = async () =>
    (await Array.fromAsync(Sandbox.listSnapshots(options()))).map(({ snapshotId }) => snapshotId).filter((id) => own.includes(id));
  await eventually("only the one without a name is gone", async () => !(await names()).includes(unnamed));
  expect(await names()).toEqual(["default/mcp-named:default"]);
  await using mcp = await start();
  expect(await mcp.text("remove", { id: "mcp-named" })).toBe("Removed mcp-named.");
  expect(await names()).toEqual([]);
  expect(await mcp.failure("remove", { id: "base" })).toContain("no such snapshot");
}, 120_000);

test("copies have the memory; all of a session's end with it", async () => {
  let ids: string[] = [];
  {
    await using mcp = await start();
    const source = await mcp.create();
    await mcp.text("run", { command: "echo $$ > pid; read x < <(exec sleep 1000)", wait_s: 0 });
    await eventually("it runs", async () => (await mcp.text("search", { name: "pid" })).endsWith("./pid\n"));
    const copies = (await mcp.text("fork", { count: 2 })).split(": ")[1]?.split(", ") ?? [];
    expect(copies.length).toBe(2);
    for (const sandbox of copies) expect(await mcp.text("processes", { sandbox })).toContain("echo $$ > pid");
    ids = [source, ...copies];
    expect((await mcp.text("list")).split("\n").sort()).toEqual(ids.map((id) => `${id} running`).sort());
  }
  const left = async () => (await Array.fromAsync(Sandbox.list(options()))).filter(({ sandboxId }) => ids.includes(sandboxId));
  await eventually("they have ended", async () => (await left()).length === 0);
}, 120_000);

test("a paused sandbox is resumed by the next tool, and its command goes on", async () => {
  await using mcp = await start();
  const id = await mcp.create();
  const pid = Number(/pid (\d+)/.exec(await mcp.text("run", { command: "echo one; read x; echo two $x", stdin: true, wait_s: 0 }))?.[1]);
  await eventually("it runs", async () => (await mcp.text("wait", { pid, wait_s: 0, from: 0 })).includes("one"));
  await mcp.text("pause");
  expect(await mcp.text("list")).toBe(`${id} paused`);
  expect((await Sandbox.getInfo(id, options())).state).toBe("paused");
  expect(await mcp.text("input", { pid, text: "more\n", wait_s: 20 })).toMatch(/^exit code 0[\s\S]*two more\n$/);
  await Sandbox.pause(id, options());
  await mcp.client.callTool({ name: "read", arguments: { path: "." } });
  expect(await mcp.text("run", { command: "echo resumed" })).toContain("resumed");
}, 120_000);

test("a session and its commands go on over a restart of the server", async () => {
  await using mcp = await start();
  await mcp.create();
  const pid = Number(/pid (\d+)/.exec(await mcp.text("run", { command: "echo one; read x; echo two $x", stdin: true, wait_s: 0 }))?.[1]);
  const waiting = mcp.failure("wait", { pid });
  await platform().restart();
  expect(await waiting).toMatch(/Call the tool again|Call `wait`/);
  expect(await mcp.text("input", { pid, text: "more\n", wait_s: 20 })).toMatch(/^exit code 0[\s\S]*two more\n$/);
  expect(await mcp.text("wait", { pid, from: 0 })).toContain("one\ntwo more\n");
}, 60_000);

test("a sandbox that another client has ended is no longer the session's; its lease is short", async () => {
  await using mcp = await start();
  const id = await mcp.create();
  const { endAt } = await Sandbox.getInfo(id, options());
  expect(endAt.getTime() - Date.now()).toBeLessThanOrEqual(120_000);
  await Sandbox.kill(id, options());
  expect(await mcp.failure("run", { command: "true" })).toMatch(/`(create|list)`/);
  expect(await mcp.failure("run", { command: "true" })).toBe("This session has no sandbox yet. Make one with `create`.");
}, 60_000);

test("search finds lines and names, and no more than a result holds", async () => {
  await using mcp = await start();
  await mcp.create();
  await mcp.text("write", { path: "src/a.py", text: "def one():\n  pass\n" });
  await mcp.text("write", { path: "src/b.txt", text: `def two\n${"long ".repeat(1000)}def\n` });
  expect(await mcp.text("search", { text: "^def \\w+", name: "*.py" })).toEndWith("\n./src/a.py:1:def one():\n");
  expect((await mcp.text("search", { path: "src", text: "def" })).split("\n").filter((line) => line.startsWith("src/")).length).toBe(3);
  expect(await mcp.text("search", { name: "*.txt" })).toEndWith("\n./src/b.txt\n");
  expect(await mcp.text("search", { text: "$(touch injected)" })).toBe("Nothing found.");
  expect(await mcp.text("search", { name: "injected" })).toBe("Nothing found.");
  expect(await mcp.failure("search")).toContain("Give `text` or `name`.");
  const many = await mcp.text("search", { path: "/usr/share", text: "e" });
  expect(many.length).toBeLessThan(17_000);
  const pid = Number(/pid (\d+)/.exec(many)?.[1]);
  expect((await mcp.text("wait", { pid, from: Number(/"from": (\d+)/.exec(many)?.[1]) })).length).toBeGreaterThan(10_000);
}, 60_000);

test("a port has URLs that answer", async () => {
  await using mcp = await start();
  await mcp.create();
  await mcp.text("write", { path: "site/index.html", text: "served" });
  await mcp.text("run", { command: "cd site && python3 -m http.server 8000", wait_s: 0 });
  const urls = (await mcp.text("expose", { port: 8000 })).split("\n");
  expect(urls[0]).toMatch(/^http:\/\/8000-i\w+\.localhost:\d+\/$/);
  await eventually("it answers", async () => (await (await fetch(urls[1] as string)).text()) === "served");
}, 60_000);

test("files are resources", async () => {
  await using mcp = await start();
  const id = await mcp.create();
  await mcp.text("write", { path: "a b#.txt", text: "text\n" });
  await mcp.text("run", { command: "printf '\\377\\000' > bytes; truncate -s 2M large" });
  const { resources } = await mcp.client.listResources();
  const uri = `boxyard://${id}/home/user/a%20b%23.txt`;
  expect(resources).toContainEqual({ uri, name: "a b#.txt", size: 5 });
  const read = async (address: string) => (await mcp.client.readResource({ uri: address })).contents[0];
  expect(await read(uri)).toEqual({ uri, text: "text\n" });
  expect(await read(`boxyard://${id}/home/user/bytes`)).toMatchObject({ blob: "/wA=" });
  expect(await read(`boxyard://${id}/home/user`)).toMatchObject({ text: expect.stringContaining("a b#.txt\t5") });
  await expect(read(`boxyard://${id}/home/user/large`)).rejects.toThrow("Use the tool `read`");
  await expect(read(`boxyard://${id}/missing`)).rejects.toThrow("search");
  await expect(read("boxyard://ianother/etc/passwd")).rejects.toThrow("This session has no sandbox ianother.");
  expect((await mcp.client.listResourceTemplates()).resourceTemplates[0]?.uriTemplate).toBe("boxyard://{sandbox}/{+path}");
}, 60_000);
