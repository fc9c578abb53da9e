import { beforeAll, expect, test } from "bun:test";
import { cpSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { eventually, type ProgramResult, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { olderNpmClients } from "../support/published.ts";

const platform = usePlatform();
let program = "";
beforeAll(async () => {
  program = join(await olderNpmClients(), "node_modules/@e2b/cli/dist/index.js");
}, 240_000);

/** The published CLI 2.19.0 with nothing but the variables that `boxyard env` prints. */
const cli = (args: readonly string[], stdin?: string): Promise<ProgramResult> =>
  runProgram(["node", program, ...args], {
    env: { ...platform().env, NO_UPDATE_NOTIFIER: "1" },
    limitMs: 40_000,
    ...(stdin !== undefined && { stdin }),
  });

const ids = async (): Promise<string[]> => {
  const listed = await cli(["sandbox", "list", "--format", "json"]);
  expect([listed.exitCode, listed.stderr]).toEqual([0, ""]);
  return (JSON.parse(listed.stdout || "[]") as { sandboxId: string }[]).map((entry) => entry.sandboxId);
};

/** Makes a sandbox, and runs a command in it, where that is not what is tested: each start of the client takes half a second of CPU. */
async function prepared(command: string): Promise<string> {
  const sandbox = await Sandbox.create("base", { apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  await sandbox.commands.run(command);
  return sandbox.sandboxId;
}

const listedIds = async (query: string): Promise<string[]> => {
  const { status, body } = await platform().api({ path: `/v2/sandboxes${query}` });
  expect(status).toBe(200);
  return (body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
};

/** Ends a sandbox where the client's own `kill` is not what is tested: each start of the client takes half a second of CPU. */
async function end(id: string): Promise<void> {
  expect((await platform().api({ method: "DELETE", path: `/sandboxes/${id}` })).status).toBe(204);
}

test("create, list, exec with its exit code, info and kill", async () => {
  const created = await cli(["sandbox", "create", "base", "--detach"]);
  expect(created.exitCode).toBe(0);
  const id = /i[a-z0-9]{20}/.exec(created.stdout)?.[0] ?? "";
  expect(id).not.toBe("");
  expect(await ids()).toContain(id);

  const ran = await cli(["sandbox", "exec", id, "--", "sh", "-c", "echo out; echo err >&2; exit 5"]);
  expect([ran.exitCode, ran.stdout, ran.stderr]).toEqual([5, "out\n", expect.stringContaining("err\n")]);
  expect((await cli(["sandbox", "exec", id, "cat"], "through the pipe\n")).stdout).toBe("through the pipe\n");
  expect((await cli(["sandbox", "exec", "-c", "/tmp", "-e", "A=b", id, "--", "sh", "-c", "pwd; echo $A"])).stdout).toBe("/tmp\nb\n");
  expect((await cli(["sandbox", "info", id])).stdout).toContain(id);

  expect((await cli(["sandbox", "kill", id])).exitCode).toBe(0);
  await eventually("the sandbox is gone", async () => !(await listedIds("")).includes(id));
  expect(await ids()).not.toContain(id);
}, 120_000);

test("pause, the list of paused ones, resume", async () => {
  const id = await prepared("(sleep 1000 > /dev/null 2>&1 &) ; echo kept > /tmp/kept");
  expect((await cli(["sandbox", "pause", id])).exitCode).toBe(0);
  const paused = await cli(["sandbox", "list", "--state", "paused", "--format", "json"]);
  expect((JSON.parse(paused.stdout) as { sandboxId: string }[]).map((entry) => entry.sandboxId)).toContain(id);
  expect((await cli(["sandbox", "resume", id])).exitCode).toBe(0);
  const ran = await cli(["sandbox", "exec", id, "--", "sh", "-c", "cat /tmp/kept; cat /proc/[0-9]*/comm | grep -c sleep"]);
  expect(ran.stdout).toBe("kept\n1\n");
  await end(id);
}, 120_000);

test("a sandbox that is paused by its timeout, and used again", async () => {
  const lifecycle = ["--lifecycle.ontimeout", "pause", "--lifecycle.autoresume"];
  const id = /i[a-z0-9]{20}/.exec((await cli(["sandbox", "create", "base", "--detach", ...lifecycle])).stdout)?.[0] ?? "";
  // This client's own shortest timeout is half a minute.
  expect((await platform().api({ method: "POST", path: `/sandboxes/${id}/timeout`, body: { timeout: 0 } })).status).toBe(204);
  await eventually("it is paused", async () => (await listedIds("?state=paused")).includes(id), { withinMs: 40_000 });
  expect((await cli(["sandbox", "list", "--state", "paused", "--format", "json"])).stdout).toContain(id);
  expect((await cli(["sandbox", "resume", id])).exitCode).toBe(0);
  expect((await cli(["sandbox", "exec", id, "--", "echo", "awake"])).stdout).toBe("awake\n");
  await end(id);
}, 120_000);

test("a snapshot: created, listed, started from, deleted", async () => {
  const idOf = ({ stdout }: { stdout: string }) => /i[a-z0-9]{20}/.exec(stdout)?.[0] ?? "";
  const id = await prepared("echo kept > /tmp/kept");
  const created = await cli(["sandbox", "snapshot", "create", id]);
  const snapshot = /[a-z0-9]{20}:default/.exec(created.stdout)?.[0] ?? "";
  expect([created.exitCode, snapshot === ""]).toEqual([0, false]);
  expect((await cli(["sandbox", "snapshot", "list"])).stdout).toContain(snapshot);
  const clone = idOf(await cli(["sandbox", "create", snapshot, "--detach"]));
  expect((await cli(["sandbox", "exec", clone, "--", "cat", "/tmp/kept"])).stdout).toBe("kept\n");
  for (const one of [clone, id]) await end(one);
  expect((await cli(["sandbox", "snapshot", "delete", snapshot])).exitCode).toBe(0);
  expect((await cli(["sandbox", "snapshot", "list"])).stdout).not.toContain(snapshot);
}, 120_000);

test("logs of a sandbox, as they stand and followed to its end", async () => {
  const id = await prepared("true");
  const now = await cli(["sandbox", "logs", id]);
  expect([now.exitCode, now.stdout]).toEqual([0, expect.stringContaining("Sandbox started from template base")]);
  const followed = cli(["sandbox", "logs", "-f", id]);
  // Time alone: nothing tells that the client follows the log.
  await Bun.sleep(1500);
  await end(id);
  expect((await followed).stdout).toContain("Sandbox started from template base");
}, 120_000);

test("metrics of a sandbox", async () => {
  const id = await prepared("true");
  const hasPoints = async () => ((await platform().api({ path: `/sandboxes/${id}/metrics` })).body as unknown[]).length > 0;
  await eventually("the sandbox is measured", hasPoints);
  const shown = await cli(["sandbox", "metrics", id]);
  expect([shown.exitCode, shown.stdout]).toEqual([0, expect.stringMatching(/CPU.*\d.*Memory.*\d/s)]);
  await end(id);
}, 120_000);

test("the list of templates; one that is published, and taken back", async () => {
  const listed = await cli(["template", "list", "--format", "json"]);
  expect([listed.exitCode, listed.stdout]).toEqual([0, expect.stringContaining("base")]);
  const isPublic = async () => ((await platform().api({ path: "/templates/base" })).body as { public: boolean }).public;
  expect(await isPublic()).toBe(true);
  expect((await cli(["template", "unpublish", "--yes", "base"])).exitCode).toBe(0);
  expect(await isPublic()).toBe(false);
  expect((await cli(["template", "publish", "--yes", "base"])).exitCode).toBe(0);
  expect(await isPublic()).toBe(true);
}, 120_000);

test("a template of a Dockerfile FROM boxyard/base, which is the server's own and no image of a registry", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-e2b-cli-"));
  const name = `cli-${crypto.randomUUID().slice(0, 8)}`;
  try {
    writeFileSync(join(directory, "file"), "from the context\n");
    writeFileSync(join(directory, "e2b.Dockerfile"), "FROM boxyard/base\nENV GREETING=hi\nCOPY file /copied\nRUN echo $GREETING > /made\n");
    const made = await cli(["template", "create", name, "--path", directory]);
    expect([made.exitCode, made.stdout + made.stderr]).toEqual([0, expect.stringContaining(name)]);
    const id = /i[a-z0-9]{20}/.exec((await cli(["sandbox", "create", name, "--detach"])).stdout)?.[0] ?? "";
    expect((await cli(["sandbox", "exec", id, "--", "cat", "/copied", "/made"])).stdout).toBe("from the context\nhi\n");
    await end(id);
    expect((await cli(["template", "delete", "--yes", name])).exitCode).toBe(0);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 120_000);

test("a template of a Dockerfile FROM scratch", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-e2b-cli-"));
  const name = `cli-${crypto.randomUUID().slice(0, 8)}`;
  try {
    cpSync("/bin/busybox", join(directory, "busybox"));
    writeFileSync(join(directory, "e2b.Dockerfile"), `FROM scratch\nENV NAME=${name}\nCOPY busybox /app/\n`);
    const made = await cli(["template", "create", name, "--path", directory]);
    expect([made.exitCode, made.stdout + made.stderr]).toEqual([0, expect.stringContaining("the image has no user 'user'")]);
    const id = /i[a-z0-9]{20}/.exec((await cli(["sandbox", "create", name, "--detach"])).stdout)?.[0] ?? "";
    expect((await cli(["sandbox", "exec", id, "--", "/app/busybox", "id", "-u"])).stdout).toBe("0\n");
    await end(id);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 120_000);

test("a wrong key is refused with an error that says so", async () => {
  const env = { ...platform().env, E2B_API_KEY: `e2b_${"0".repeat(40)}`, NO_UPDATE_NOTIFIER: "1" };
  const refused = await runProgram(["node", program, "sandbox", "list"], { env });
  // The client adds where in its program that was.
  const [message] = refused.stderr.split("\n");
  expect([refused.exitCode, refused.stdout, message]).toEqual([
    1,
    "",
    "AuthenticationError: Unauthorized, please check your credentials. - Invalid API key: it is not one of this server's",
  ]);
});
