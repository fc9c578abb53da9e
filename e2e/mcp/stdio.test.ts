import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { eventually } from "@boxyard/testkit";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { boxyard } from "../cli/support.ts";
import { usePlatform } from "../support/platform.ts";
import { connected, stdioOf } from "./client.ts";

/** `boxyard mcp` with the official client. */
const platform = usePlatform();
const start = () => connected(stdioOf(platform()));
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });

test("docs/mcp.md: what `boxyard env --agent` prints starts a server that works", async () => {
  const document = readFileSync(join(import.meta.dir, "../../docs/mcp.md"), "utf8");
  expect(document).toContain("```sh\n./boxyard env --agent\n```");
  const printed = await boxyard(platform(), ["env", "--agent"]);
  const { boxyard: entry } = JSON.parse(printed.stdout).mcpServers;
  expect(entry.command).toEndWith("/boxyard");
  await using mcp = await connected(new StdioClientTransport(entry));
  await mcp.create();
  expect(await mcp.text("run", { command: "echo hello" })).toEndWith("\nhello\n");
}, 60_000);

test("the entry names the settings with which the server of this machine is found and started", async () => {
  const own = { BOXYARD_DATA: "/nonexistent/boxyard", BOXYARD_LISTEN: "127.0.0.1:9" };
  const printed = await boxyard(platform(), ["env", "--agent"], { env: { ...own, BOXYARD_API_URL: "", BOXYARD_API_KEY: "k" } });
  const { env } = JSON.parse(printed.stdout).mcpServers.boxyard;
  expect(env).toEqual({ ...own, BOXYARD_API_URL: "http://127.0.0.1:9", BOXYARD_API_KEY: "k" });
}, 60_000);

const idsOf = async () => (await Array.fromAsync(Sandbox.list(options()))).map(({ sandboxId }) => sandboxId);

test("an agent makes a sandbox, writes, changes, reads and runs a program; the sandbox ends with the session", async () => {
  let id = "";
  {
    await using mcp = await start();
    expect(mcp.client.getInstructions()).toContain("create");
    expect(await mcp.failure("run", { command: "true" })).toBe("This session has no sandbox yet. Make one with `create`.");
    id = await mcp.create();
    expect(await mcp.text("list")).toBe(`${id} running`);
    await mcp.text("write", { path: "app/main.py", text: "print('one')\nprint('two')\n" });
    await mcp.text("patch", {
      path: "app/main.py",
      edits: [
        { old: "one", new: "first" },
        { old: "print", new: "print", all: true },
      ],
    });
    expect(await mcp.text("read", { path: "app/main.py" })).toBe("print('first')\nprint('two')\n");
    expect(await mcp.text("read", { path: "app" })).toBe("main.py\t28");
    expect(await mcp.text("run", { command: "python3 main.py; exit 3", cwd: "/home/user/app" })).toMatch(/^exit code 3 .*\nfirst\ntwo\n$/);
    expect(await idsOf()).toContain(id);
  }
  await eventually("the sandbox has ended", async () => !(await idsOf()).includes(id));
}, 60_000);

test.each(["SIGTERM", "SIGINT"] as const)(
  "%s ends the session with its sandboxes",
  async (signal) => {
    const transport = stdioOf(platform());
    await using mcp = await connected(transport);
    const id = await mcp.create();
    process.kill(transport.pid as number, signal);
    await eventually("the sandbox has ended", async () => !(await idsOf()).includes(id));
  },
  60_000,
);

test("an edit that does not fit changes nothing", async () => {
  await using mcp = await start();
  await mcp.create();
  await mcp.text("write", { path: "f", text: "a b a" });
  const edits = [
    { old: "b", new: "c" },
    { old: "a", new: "d" },
  ];
  expect(await mcp.failure("patch", { path: "f", edits })).toContain("occurs 2 times. Give more lines around it, or set `all`.");
  expect(await mcp.failure("patch", { path: "f", edits: [{ old: "x", new: "y" }] })).toContain("`read` the file");
  expect(await mcp.text("read", { path: "f" })).toBe("a b a");
  expect(await mcp.failure("read", { path: "missing" })).toContain("`search` with `name` finds files.");
  expect(await mcp.failure("patch", { path: "f", old: "a" })).toContain("edits");
}, 60_000);

test("output comes as it is made, long output in parts", async () => {
  await using mcp = await start();
  await mcp.create();
  const seen: string[] = [];
  const command = "echo begin; read line; echo got $line; seq 20000";
  const started = await mcp.text("run", { command: "cat > seen", stdin: true, wait_s: 0 });
  expect(started).toContain("still running, pid ");
  const running = mcp.client.callTool({ name: "run", arguments: { command, stdin: true } }, undefined, {
    onprogress: ({ message }) => void seen.push(message ?? ""),
  });
  await eventually("the first output is there", () => seen.join("").includes("begin"));
  const pid = Number(/^(\d+)\techo begin/m.exec(await mcp.text("processes"))?.[1]);
  await mcp.text("input", { pid, text: "this\n", close: true, wait_s: 0 });
  await running;
  const whole = await mcp.text("wait", { pid, from: 0 });
  expect(whole).toStartWith(`exit code 0 (pid ${pid}, `);
  expect(whole).toContain("begin\ngot this\n1\n2\n");
  const from = Number(/"from": (\d+)}/.exec(whole)?.[1]);
  expect((await mcp.text("wait", { pid, from })).length).toBeGreaterThan(10_000);
  const last = await mcp.text("run", { command: "seq 20000" });
  expect(last).toContain("left out: read them with wait");
  expect(last.length).toBeLessThan(17_000);
  expect(last).toEndWith("19999\n20000\n");
}, 60_000);

test("a command in the background is waited for, or killed; a cancelled one is killed", async () => {
  await using mcp = await start();
  await mcp.create();
  const pid = Number(/pid (\d+)/.exec(await mcp.text("run", { command: "read x; exit 7", stdin: true, wait_s: 0 }))?.[1]);
  expect(await mcp.text("wait", { pid, wait_s: 0 })).toContain("still running");
  const waiting = mcp.text("wait", { pid });
  await mcp.text("input", { pid, text: "\n" });
  expect(await waiting).toStartWith("exit code 7");
  const endless = Number(/pid (\d+)/.exec(await mcp.text("run", { command: "sleep 1000", wait_s: 0 }))?.[1]);
  expect(await mcp.text("kill", { pid: endless })).toBe(`Killed ${endless}.`);
  expect(await mcp.text("wait", { pid: endless })).toStartWith("signal: killed");
  const controller = new AbortController();
  const cancelled = mcp.client.callTool({ name: "run", arguments: { command: "sleep 2000" } }, undefined, { signal: controller.signal });
  await eventually("it runs", async () => (await mcp.text("processes")).includes("sleep 2000"));
  controller.abort();
  await expect(cancelled).rejects.toThrow();
  await eventually("it is killed", async () => (await mcp.text("processes")) === "Nothing runs.");
}, 60_000);

test("a kept sandbox stays, and another session can use it; one of another session it cannot", async () => {
  let kept = "";
  await using other = await start();
  const foreign = await other.create();
  {
    await using mcp = await start();
    kept = await mcp.create({ keep: true });
    await mcp.text("write", { path: "kept.txt", text: "still here" });
    expect(await mcp.failure("use", { sandbox: foreign })).toContain("belongs to another session");
    expect(await mcp.failure("run", { sandbox: foreign, command: "true" })).toContain("This session has no sandbox");
  }
  await using mcp = await start();
  expect(await mcp.text("list")).toContain(`${kept} running, kept, from base; not in this session`);
  await mcp.text("use", { sandbox: kept });
  expect(await mcp.text("read", { path: "kept.txt" })).toBe("still here");
  await mcp.text("remove", { id: kept });
  expect(await idsOf()).not.toContain(kept);
}, 60_000);
