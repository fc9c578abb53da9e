import { afterAll, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, eventually, type ProgramOptions, readTestConfig, runProgram, settledDifferences, takeSnapshot } from "@boxyard/testkit";

const config = readTestConfig();
const env = { ...config.env, BOXYARD_DATA: config.dataDir, BOXYARD_CACHE: config.cacheDir, BOXYARD_LISTEN: "127.0.0.1:0" };

/** `./boxyard …`, as a user types it. */
const boxyard = (args: readonly string[], options: ProgramOptions = {}) =>
  runProgram([join(CHECKOUT, "boxyard"), ...args], { ...options, env: { ...env, ...options.env } });
const run = (args: readonly string[], options: ProgramOptions = {}) => boxyard(["run", ...args], options);

afterAll(async () => {
  await boxyard(["down", "--sandboxes"]);
});

test("the README's command prints 42", async () => {
  expect(await run(["--", "python3", "-c", "print(6*7)"])).toMatchObject({ exitCode: 0, stdout: "42\n" });
});

test("a second run sets nothing up and answers within a second", async () => {
  await run(["--", "true"]);
  // The quickest of several: a busy machine delays any of them.
  const isQuick = async () => {
    const again = await run(["--", "echo", "quick"]);
    expect({ ...again, ms: 0 }).toEqual({ exitCode: 0, stdout: "quick\n", stderr: "", ms: 0 });
    return again.ms < 1_000;
  };
  await eventually("an answer within a second", isQuick, { withinMs: 45_000 });
}, 60_000);

test("arguments reach the command as they are, without a shell", async () => {
  const argument = "a b  'c' \"d\" $HOME * \\ ;|&";
  expect((await run(["--", "printf", "<%s>", argument, "", "ž"])).stdout).toBe(`<${argument}><><ž>`);
});

test("exit code and both outputs are the command's own", async () => {
  const ended = await run(["--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
  expect({ ...ended, ms: 0 }).toEqual({ exitCode: 7, stdout: "out\n", stderr: "err\n", ms: 0 });
  expect((await run(["--", "no-such-program"])).exitCode).toBe(127);
  expect((await run(["--", "sh", "-c", "kill -9 $$"])).exitCode).toBe(137);
});

test("output is streamed as it comes", async () => {
  const child = Bun.spawn([join(CHECKOUT, "boxyard"), "run", "-i", "--", "sh", "-c", "echo first; read line; echo second"], {
    env,
    stdout: "pipe",
    stderr: "inherit",
    stdin: "pipe",
  });
  const reader = child.stdout.getReader();
  const first = await reader.read();
  expect(new TextDecoder().decode(first.value)).toBe("first\n");
  expect(child.exitCode).toBeNull();
  child.stdin.write("go on\n");
  child.stdin.end();
  const second = await reader.read();
  expect(new TextDecoder().decode(second.value)).toBe("second\n");
  expect(await child.exited).toBe(0);
});

test("-i hands standard input over, up to its end", async () => {
  expect((await run(["-i", "--", "tr", "a-z", "A-Z"], { stdin: "through\n" })).stdout).toBe("THROUGH\n");
  const large = "line of text\n".repeat(50_000);
  expect((await run(["-i", "--", "wc", "-c"], { stdin: large })).stdout.trim()).toBe(`${large.length}`);
  expect((await run(["--", "cat"], { stdin: "not handed over" })).stdout).toBe("");
});

test("-e, --cwd and --user shape the command", async () => {
  const shaped = await run(["-e", "A=1=2", "-e", "B=x y", "--cwd", "/tmp", "--user", "root", "--", "sh", "-c", "echo $A/$B; pwd; id -un"]);
  expect(shaped.stdout).toBe("1=2/x y\n/tmp\nroot\n");
  expect((await run(["--", "sh", "-c", "id -un; pwd"])).stdout).toBe("user\n/home/user\n");
});

test("--timeout ends the command, says so and exits with 124", async () => {
  const ended = await run(["--timeout", "1", "--", "sleep", "60"]);
  expect(ended.exitCode).toBe(124);
  expect(ended.stderr).toContain("the command was ended after 1 s (--timeout)");
});

test("what can't be done is said in one line, with what to do", async () => {
  const unknown = await run(["-t", "no-such-template", "--", "true"]);
  expect(unknown.exitCode).toBe(125);
  expect(unknown.stderr).toContain("no-such-template");
  expect(unknown.stderr.trim().split("\n").length).toBeLessThan(4);
  expect(unknown.stderr).not.toMatch(/\n\s+at /);
  expect((await run(["--"])).exitCode).toBe(125);
});

test("no sandbox is left after a run, whatever its end", async () => {
  await run(["--", "false"]);
  const listed = await boxyard(["sandbox", "list", "--json"]);
  expect(JSON.parse(listed.stdout)).toEqual([]);
});

test("up -d, env and down: a server in the background, at an address that env prints", async () => {
  expect((await boxyard(["up", "-d"])).exitCode).toBe(0);
  const printed = (await boxyard(["env"])).stdout;
  const url = /E2B_API_URL=['"]?([^'"\n]+)/.exec(printed)?.[1] ?? "";
  expect((await fetch(`${url}/health`)).ok).toBe(true);
  expect((await boxyard(["down"])).exitCode).toBe(0);
  await expect(fetch(`${url}/health`)).rejects.toThrow();
  expect(existsSync(join(config.dataDir, "server.json"))).toBe(false);
});

test("after down --sandboxes nothing of it is left on the machine", async () => {
  await boxyard(["down", "--sandboxes"]);
  const pool = ["losetup", "-j", join(config.dataDir, "pool.img")];
  await eventually("the kernel has taken the loop device back", async () => (await runProgram(pool)).stdout === "", { withinMs: 30_000 });
  const before = takeSnapshot();
  expect((await boxyard(["up", "-d"])).exitCode).toBe(0);
  await run(["--", "sh", "-c", "id"]);
  const key = (await Bun.file(join(config.dataDir, "api-key")).text()).trim();
  const { url } = (await Bun.file(join(config.dataDir, "server.json")).json()) as { url: string };
  const created = await fetch(`${url}/sandboxes`, {
    method: "POST",
    headers: { "X-API-Key": key, "Content-Type": "application/json" },
    body: JSON.stringify({ templateID: "base", timeout: 600 }),
  });
  expect(created.status).toBe(201);
  expect((await boxyard(["down", "--sandboxes"])).exitCode).toBe(0);
  expect(await settledDifferences(config.dataDir, before)).toEqual([]);
});

test("doctor says what the machine can do, for people and for programs", async () => {
  const doctor = await boxyard(["doctor"]);
  expect(doctor.exitCode).toBe(0);
  expect(doctor.stdout.trim().split("\n").length).toBeGreaterThan(3);
  const { checks } = JSON.parse((await boxyard(["doctor", "--json"])).stdout) as { checks: { name: string; status: string }[] };
  expect(checks.filter((check) => check.status === "fail")).toEqual([]);
  expect(checks.length).toBeGreaterThan(3);
});
