import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FAKE_API_KEY, FakePlatform } from "@boxyard/sdk/testing";

// Each run of the program is a process that a busy machine starts slowly.
setDefaultTimeout(60_000);

const platform = new FakePlatform();
const dataDir = mkdtempSync(join(tmpdir(), "boxyard-cli-"));
/** The program as one file: dozens of runs start sooner than from the sources. What it finds by its own path is not there. */
const bundleDir = mkdtempSync(join(tmpdir(), "boxyard-cli-bundle-"));
const program = join(bundleDir, "main.js");
let url = "";

beforeAll(async () => {
  await Bun.build({ entrypoints: [join(import.meta.dir, "main.ts")], target: "bun", outdir: bundleDir });
  url = await platform.start();
});
afterAll(async () => {
  await platform.stop();
  for (const directory of [dataDir, bundleDir]) rmSync(directory, { recursive: true });
});

interface Ran {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

function start(args: readonly string[], env: Record<string, string> = {}, stdin?: string) {
  return Bun.spawn([process.execPath, program, ...args], {
    env: { PATH: "/usr/bin:/bin", BOXYARD_DATA: dataDir, BOXYARD_API_URL: url, BOXYARD_API_KEY: FAKE_API_KEY, ...env },
    stdin: stdin === undefined ? "ignore" : new TextEncoder().encode(stdin),
    stdout: "pipe",
    stderr: "pipe",
  });
}

async function boxyard(args: readonly string[], env: Record<string, string> = {}, stdin?: string): Promise<Ran> {
  const child = start(args, env, stdin);
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

test("run passes both outputs and the exit code on, and removes the sandbox", async () => {
  const ran = await boxyard(["run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
  expect(ran).toEqual({ exitCode: 7, stdout: "out\n", stderr: "err\n" });
  expect(platform.sandboxes.size).toBe(0);
});

test("run passes every argument exactly as given, its own options only before the command", async () => {
  const ran = await boxyard(["run", "-e", "A=x y", "printf", "%s|", "-e", "a b", "$A", "", "--", "'"]);
  expect(ran).toEqual({ exitCode: 0, stdout: "-e|a b|$A||--|'|", stderr: "" });
});

test("run takes variables given in full or by name", async () => {
  const ran = await boxyard(["run", "-e", "A=1=2", "-e", "B", "--", "sh", "-c", 'echo "$A,$B"'], { B: "mine" });
  expect(ran.stdout).toBe("1=2,mine\n");
  expect((await boxyard(["run", "-e", "MISSING", "--", "true"])).stderr).toContain("your environment has no variable MISSING");
});

test("run -i passes standard input on, and its end", async () => {
  const input = "x".repeat(300_000);
  expect(await boxyard(["run", "-i", "--", "wc", "-c"], {}, input)).toEqual({ exitCode: 0, stdout: "300000\n", stderr: "" });
});

test("an end by signal is 128 and its number, an end by time is 124", async () => {
  expect((await boxyard(["run", "--", "sh", "-c", "kill -9 $$"])).exitCode).toBe(137);
  const late = await boxyard(["run", "--timeout", "0.3", "--", "sleep", "30"]);
  expect([late.exitCode, late.stderr]).toEqual([124, "error: the command was ended after 0.3 s (--timeout)\n"]);
  expect(platform.sandboxes.size).toBe(0);
});

test("Ctrl-C ends the command, removes the sandbox, and says nothing", async () => {
  const child = start(["run", "--", "sh", "-c", "echo started; exec sleep 30"]);
  const reader = child.stdout.getReader();
  await reader.read();
  child.kill("SIGINT");
  expect([await child.exited, await new Response(child.stderr).text(), platform.sandboxes.size]).toEqual([130, "", 0]);
});

test("when the reader of the output ends, the command ends too", async () => {
  const shell = `"$0" "$@" run -- yes | head -n 1; echo "\${PIPESTATUS[0]}"`;
  const child = Bun.spawn(["bash", "-c", shell, process.execPath, program], {
    env: { PATH: "/usr/bin:/bin", BOXYARD_DATA: dataDir, BOXYARD_API_URL: url, BOXYARD_API_KEY: FAKE_API_KEY },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  expect([stdout, stderr, platform.sandboxes.size]).toEqual(["y\n141\n", "", 0]);
});

test("errors say what failed and what to do, without colour codes", async () => {
  const wrong = await boxyard(["sandbox", "list"], { BOXYARD_API_KEY: "e2b_1" });
  expect([wrong.exitCode, wrong.stdout]).toEqual([1, ""]);
  expect(wrong.stderr).toStartWith("error: list sandboxes: Invalid API key\nCheck BOXYARD_API_KEY");
  const nobody = await boxyard(["run", "--", "true"], { BOXYARD_API_URL: "http://127.0.0.1:1" });
  expect(nobody.stderr).toContain("no answer from http://127.0.0.1:1");
  expect((await boxyard(["run", "-t", "nothing", "--", "true"])).stderr).toContain("template 'nothing' not found");
  expect((await boxyard(["rnu"])).stderr).toContain("Did you mean run?");
  expect((await boxyard(["run"])).exitCode).toBe(125);
  expect((await boxyard(["sandbox", "kill"])).exitCode).toBe(2);
  const tooMany = await boxyard(["sandbox", "list", "extra"]);
  expect([tooMany.exitCode, tooMany.stderr]).toEqual([2, "error: too many arguments for 'list'. Expected 0 arguments but got 1.\n"]);
  expect((await boxyard(["sandbox", "list"], { BOXYARD_API_URL: "localhost:3000" })).stderr).toContain("must be a URL");
});

test("sandboxes: create, list, look at, set the timeout, kill", async () => {
  const id = (await boxyard(["sandbox", "create", "--metadata", "task=42", "--timeout", "1h"])).stdout.trim();
  const listed = JSON.parse((await boxyard(["sandbox", "list", "--metadata", "task=42", "--json"])).stdout);
  expect(listed).toMatchObject([{ sandboxId: id, state: "running", metadata: { task: "42" } }]);
  expect((await boxyard(["sandbox", "list", "--metadata", "task=43"])).stderr).toBe("no sandboxes\n");
  const table = (await boxyard(["sandbox", "ls"])).stdout.split("\n");
  expect(table[0]).toStartWith("SANDBOX");
  expect(table[1]).toContain("task=42");
  expect((await boxyard(["sandbox", "info", id])).stdout).toContain(`sandbox   ${id}`);
  expect((await boxyard(["sandbox", "timeout", id, "2h"])).stderr).toContain("ends in 2 h");
  expect(await boxyard(["exec", id, "--", "echo", "-n", "x"])).toEqual({ exitCode: 0, stdout: "x", stderr: "" });
  expect(await boxyard(["sandbox", "kill", id])).toEqual({ exitCode: 0, stdout: `${id}\n`, stderr: "" });
  expect((await boxyard(["sandbox", "kill", id])).exitCode).toBe(1);
  expect((await boxyard(["sandbox", "info", id])).stderr).toContain("`boxyard sandbox list` shows the sandboxes");
});

test("sandbox create --on-timeout and --auto-resume say what happens at the end of the lifetime, and info shows it", async () => {
  const createdWith = async (...options: string[]) => {
    const { stdout } = await boxyard(["sandbox", "create", ...options]);
    const shown = (await boxyard(["sandbox", "info", stdout.trim()])).stdout.match(/^timeout +(.*)/m)?.[1];
    platform.sandboxes.delete(stdout.trim());
    const sent = platform.seen.findLast(({ method, path }) => method === "POST" && path === "/v2/sandboxes")?.body ?? "{}";
    const { autoPause, autoResume } = JSON.parse(sent);
    return { autoPause, autoResume, shown };
  };
  expect(await createdWith("--on-timeout", "pause")).toMatchObject({ autoPause: true, autoResume: undefined, shown: "pause" });
  expect(await createdWith("--on-timeout", "kill")).toMatchObject({ autoPause: false, autoResume: undefined, shown: "kill" });
  expect(await createdWith()).toMatchObject({ autoPause: undefined, autoResume: undefined, shown: "kill" });
  expect(await createdWith("--on-timeout", "pause", "--auto-resume")).toEqual({
    autoPause: true,
    autoResume: { enabled: true },
    shown: "pause, auto-resume",
  });
  const wrong = await boxyard(["sandbox", "create", "--on-timeout", "sleep"]);
  expect([wrong.exitCode, wrong.stdout]).toEqual([2, ""]);
  expect(wrong.stderr).toContain("Allowed choices are kill, pause.");
});

test("logs and keys", async () => {
  const id = (await boxyard(["sandbox", "create"])).stdout.trim();
  const line = "2026-01-01T00:00:00.000Z INFO  Sandbox started\n";
  expect(await boxyard(["sandbox", "logs", id])).toEqual({ exitCode: 0, stdout: line, stderr: "" });
  expect(JSON.parse((await boxyard(["sandbox", "logs", id, "--json"])).stdout)).toMatchObject({ fields: { event: "started" } });
  expect((await boxyard(["sandbox", "logs", id, "--level", "loud"])).exitCode).toBe(2);
  await boxyard(["sandbox", "kill", id]);
  const created = await boxyard(["key", "create", "ci"]);
  expect([created.stdout, created.stderr]).toEqual(["e2b_new\n", "key k1; it cannot be shown again:\n"]);
  expect((await boxyard(["key", "list"])).stdout).toMatch(
    /^ID +NAME +KEY +SCOPES +CREATED +EXPIRES +LAST USED\nk1 +first +e2b_12ab…cd34 +all +.* ago +never +never\n$/,
  );
  expect(await boxyard(["key", "revoke", "k1", "k2"])).toEqual({ exitCode: 1, stdout: "k1\n", stderr: "no API key k2\n" });
});

test("usage of the team's days, and of a sandbox", async () => {
  const days = await boxyard(["usage"]);
  expect([days.exitCode, days.stderr]).toEqual([0, ""]);
  expect(days.stdout).toMatch(
    /^DAY +CREATED +RUNNING +CPU +MEMORY +IN +OUT\n2026-01-01 +3 +1 min 30 s +1.5 s +1.000 GiB h +1.0 KiB +2.0 KiB\n$/,
  );
  expect(JSON.parse((await boxyard(["usage", "--json"])).stdout)).toMatchObject([{ date: "2026-01-01", sandboxes: 3, cpuSeconds: 1.5 }]);
  const id = (await boxyard(["sandbox", "create"])).stdout.trim();
  expect((await boxyard(["usage", id])).stdout).toMatch(
    /^running +1 min 30 s\ncpu +1.5 s\nmemory +1.000 GiB h\nnetwork +1.0 KiB in, 2.0 KiB out\n$/,
  );
  await boxyard(["sandbox", "kill", id]);
});

test("env prints lines that a shell reads back, and JSON", async () => {
  const expected = {
    BOXYARD_API_URL: url,
    BOXYARD_API_KEY: "it's",
    E2B_API_URL: url,
    E2B_SANDBOX_URL: url,
    E2B_VOLUME_API_URL: url,
    E2B_API_KEY: "it's",
    E2B_DOMAIN: `localhost:${new URL(url).port}`,
  };
  expect(JSON.parse((await boxyard(["env", "--json"], { BOXYARD_API_KEY: "it's" })).stdout)).toEqual(expected);
  const { stdout } = await boxyard(["env"], { BOXYARD_API_KEY: "it's" });
  const shell = Bun.spawn(["sh", "-c", `${stdout}\nenv`], { env: {}, stdout: "pipe" });
  const variables = await new Response(shell.stdout).text();
  for (const [name, value] of Object.entries(expected)) expect(variables).toContain(`${name}=${value}`);
});

test("every command has help, and completion knows it", async () => {
  const { COMMANDS } = await import("./commands/index.ts");
  const known = (await boxyard(["__complete", "--", ""])).stdout;
  for (const { name, summary } of COMMANDS.filter(({ hidden }) => !hidden)) {
    const help = await boxyard([name, "--help"]);
    expect([name, help.exitCode]).toEqual([name, 0]);
    expect(help.stdout).toStartWith(`Usage: boxyard ${name}`);
    expect(known).toContain(`${name}\t${summary}\n`);
    expect(summary.length).toBeLessThan(70);
  }
  expect((await boxyard(["--help"])).stdout).not.toContain("__complete");
});

test("completion asks a running server, and says nothing when there is none", async () => {
  const id = (await boxyard(["sandbox", "create"])).stdout.trim();
  expect(await boxyard(["__complete", "--", "exec", id.slice(0, 4)])).toEqual({
    exitCode: 0,
    stdout: `${id}\tbase, running\n`,
    stderr: "",
  });
  await boxyard(["sandbox", "kill", id]);
  const nobody = { BOXYARD_API_URL: "http://127.0.0.1:1" };
  expect(await boxyard(["__complete", "--", "exec", ""], nobody)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
  const local = { BOXYARD_API_URL: "" };
  expect(await boxyard(["__complete", "--", "exec", ""], local)).toEqual({ exitCode: 0, stdout: "", stderr: "" });
});

test("down --sandboxes where nothing was ever set up says that there is nothing to do", async () => {
  for (const place of [dataDir, join(dataDir, "missing")])
    expect(await boxyard(["down", "--sandboxes"], { BOXYARD_DATA: place })).toEqual({
      exitCode: 0,
      stdout: `No server is running.\nThere are no sandboxes to end: ${place} was never set up.\n`,
      stderr: "",
    });
});

test("sandbox logs --agent refuses what it cannot do", async () => {
  for (const [option, ...rest] of [["--follow"], ["--level", "warn"], ["--search", "x"]]) {
    const { exitCode, stderr } = await boxyard(["sandbox", "logs", "--agent", option ?? "", ...rest, "any"]);
    expect([exitCode, stderr]).toEqual([
      2,
      expect.stringContaining(`'--agent' cannot be used with option '${option?.replace("--follow", "-f, --follow")}`),
    ]);
  }
});
