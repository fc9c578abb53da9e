import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";

const platform = usePlatform();

interface Listed {
  readonly pid: number;
  readonly args: readonly string[];
}

const listed = async (id: string) => JSON.parse((await boxyard(platform(), ["ps", id, "--json"])).stdout) as Listed[];

/** Starts `boxyard exec` with a script, and waits until the script says that it is ready. */
async function startExec(id: string, script: string) {
  const started = startCli(["exec", id, "--", "sh", "-c", script]);
  await started.read("ready\n");
  return started;
}

/** Starts `boxyard`; `read` waits for a text on its standard output, and gives all that came so far. */
function startCli(args: readonly string[]) {
  const child = Bun.spawn([BOXYARD, ...args], { env: platform().env, stdout: "pipe", stderr: "pipe" });
  const reader = child.stdout.getReader();
  let text = "";
  const read = async (until: string) => {
    while (!text.includes(until)) {
      const { done, value } = await reader.read();
      if (done) throw new Error(`the command ended; it said ${JSON.stringify(text)}`);
      text += new TextDecoder().decode(value);
    }
    return text;
  };
  return { child, read };
}

test("Ctrl-C goes to the command and its children; its exit code is the CLI's", async () => {
  await using sandbox = await sandboxOf(platform());
  const polite = await startExec(sandbox.id, "trap 'echo interrupted; exit 9' INT; echo ready; while :; do sleep 0.1; done");
  polite.child.kill("SIGINT");
  await polite.read("interrupted\n");
  expect(await polite.child.exited).toBe(9);
  const plain = await startExec(sandbox.id, "sleep 1000 & echo ready; wait");
  plain.child.kill("SIGTERM");
  expect(await plain.child.exited).toBe(143);
  await eventually("nothing runs any more", async () => (await listed(sandbox.id)).length === 0);
  const left = await boxyard(platform(), ["exec", sandbox.id, "--", "pgrep", "sleep"]);
  expect([left.exitCode, left.stdout]).toEqual([1, ""]);
}, 60_000);

test("the second Ctrl-C kills a command that ignores the first", async () => {
  await using sandbox = await sandboxOf(platform());
  const { child, read } = await startExec(sandbox.id, "trap 'echo no' INT; echo ready; while :; do sleep 0.1; done");
  child.kill("SIGINT");
  await read("no\n");
  child.kill("SIGINT");
  expect(await child.exited).toBe(137);
  expect(await listed(sandbox.id)).toEqual([]);
}, 60_000);

test("exec -d, ps, logs, attach and kill of one command", async () => {
  await using sandbox = await sandboxOf(platform());
  const script =
    "echo first; echo oops >&2; until [ -e go ]; do sleep 0.1; done; echo second; until [ -e stop ]; do echo third; sleep 0.1; done; exit 6";
  const pid = (await boxyard(platform(), ["exec", "-d", sandbox.id, "--", "sh", "-c", script])).stdout.trim();
  expect((await boxyard(platform(), ["ps", "-q", sandbox.id])).stdout).toBe(`${pid}\n`);
  expect((await boxyard(platform(), ["ps", sandbox.id])).stdout).toContain("sh -c 'echo first");
  const soFar = await boxyard(platform(), ["logs", sandbox.id, pid]);
  expect([soFar.exitCode, soFar.stdout, soFar.stderr]).toEqual([0, "first\n", "oops\n"]);
  const followed = startCli(["logs", "-f", sandbox.id, pid]);
  await boxyard(platform(), ["exec", sandbox.id, "--", "touch", "go"]);
  expect(await followed.read("second\n")).toStartWith("first\nsecond\n");
  // What was said before it came is not shown to it.
  const attached = startCli(["attach", sandbox.id, pid]);
  expect(await attached.read("third\n")).toMatch(/^(third\n)+$/);
  await boxyard(platform(), ["exec", sandbox.id, "--", "touch", "stop"]);
  expect(await attached.child.exited).toBe(6);
  expect(await followed.child.exited).toBe(0);
  // Also after its end.
  expect((await boxyard(platform(), ["logs", sandbox.id, pid])).stdout).toMatch(/^first\nsecond\n(third\n)+$/);
  expect((await boxyard(platform(), ["attach", sandbox.id, "999999"])).exitCode).toBe(125);
}, 60_000);

test("kill ends a command and its children, by any signal", async () => {
  await using sandbox = await sandboxOf(platform());
  const start = async (script: string) => (await boxyard(platform(), ["exec", "-d", sandbox.id, "--", "sh", "-c", script])).stdout.trim();
  const first = await start("sleep 1000 & wait");
  const second = await start("trap 'touch told; exit' TERM; while :; do sleep 0.1; done");
  expect((await boxyard(platform(), ["kill", sandbox.id, first])).stdout).toBe(`${first}\n`);
  await boxyard(platform(), ["kill", "-s", "TERM", sandbox.id, second]);
  await eventually("both have ended", async () => (await listed(sandbox.id)).length === 0);
  expect((await boxyard(platform(), ["exec", sandbox.id, "--", "ls", "told"])).stdout).toBe("told\n");
  const gone = await boxyard(platform(), ["kill", sandbox.id, first]);
  expect([gone.exitCode, gone.stderr]).toEqual([1, `no command ${first} runs in sandbox ${sandbox.id}\n`]);
}, 60_000);

test("the output of a template's start command can be read", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-start-command-"));
  try {
    writeFileSync(join(directory, "Dockerfile"), 'FROM boxyard/base\nCMD ["sh", "-c", "echo started; exec sleep 100000"]\n');
    const built = await boxyard(platform(), ["template", "build", "with-start-command", directory]);
    expect({ exitCode: built.exitCode, stderr: built.exitCode === 0 ? "" : built.stderr }).toEqual({ exitCode: 0, stderr: "" });
    await using sandbox = await sandboxOf(platform(), ["with-start-command"]);
    const [{ pid } = { pid: 0 }] = await listed(sandbox.id);
    expect((await boxyard(platform(), ["logs", sandbox.id, `${pid}`])).stdout).toBe("started\n");
    await boxyard(platform(), ["template", "delete", "--yes", "with-start-command"]);
  } finally {
    rmSync(directory, { recursive: true });
  }
}, 120_000);

test("failures of the CLI and of the command have different exit codes", async () => {
  await using sandbox = await sandboxOf(platform());
  const code = async (args: string[], env = {}) => (await boxyard(platform(), args, { env })).exitCode;
  expect(await code(["exec", sandbox.id, "--", "sh", "-c", "exit 125"])).toBe(125);
  expect(await code(["exec", sandbox.id, "--", "/etc/passwd"])).toBe(126);
  expect(await code(["exec", sandbox.id, "--", "no-such-program"])).toBe(127);
  expect(await code(["exec", "nobody", "--", "true"])).toBe(125);
  expect(await code(["exec", "--no-such-option", sandbox.id, "--", "true"])).toBe(125);
  expect(await code(["run", "-t", "no-such-template", "--", "true"])).toBe(125);
  expect(await code(["run", "--", "true"], { BOXYARD_API_KEY: "wrong" })).toBe(125);
  expect(await code(["exec", "-it", sandbox.id, "--", "true"])).toBe(125);
}, 60_000);

test("a sandbox can be named by its name, or by the beginning of its id", async () => {
  await using sandbox = await sandboxOf(platform(), ["--name", "web"]);
  const echo = async (text: string) => (await boxyard(platform(), ["exec", text, "--", "echo", "here"])).stdout;
  expect([await echo("web"), await echo(sandbox.id.slice(0, 9))]).toEqual(["here\n", "here\n"]);
  expect((await boxyard(platform(), ["ls", "-q"])).stdout).toContain(sandbox.id);
  await boxyard(platform(), ["cp", "/etc/passwd", "web:name"]);
  expect((await boxyard(platform(), ["cp", "web:name", "-"])).stdout).toBe(await Bun.file("/etc/passwd").text());
  const taken = await boxyard(platform(), ["sandbox", "create", "--name", "web"]);
  expect([taken.exitCode, taken.stderr]).toEqual([1, expect.stringContaining(`sandbox ${sandbox.id} has the name 'web'`)]);
  expect((await boxyard(platform(), ["sandbox", "rename", "web", "site"])).exitCode).toBe(0);
  expect([await echo("site"), (await boxyard(platform(), ["ls"])).stdout]).toEqual(["here\n", expect.stringMatching(/ site /)]);
  expect((await boxyard(platform(), ["sandbox", "rename", "site", "web"])).exitCode).toBe(0);
  const none = await boxyard(platform(), ["exec", "nobody", "--", "true"]);
  expect(none.stderr).toStartWith("error: there is no sandbox 'nobody'\n");
  await using other = await sandboxOf(platform(), ["--name", "other"]);
  expect((await boxyard(platform(), ["ps"])).stdout).toContain(other.id);
  expect(await boxyard(platform(), ["rm", "web", "other"])).toMatchObject({ exitCode: 0 });
  expect((await boxyard(platform(), ["rm", "web"])).exitCode).toBe(1);
  expect((await boxyard(platform(), ["rm", "-f", "web"])).exitCode).toBe(0);
}, 60_000);
