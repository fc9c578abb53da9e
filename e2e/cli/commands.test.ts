import { afterAll, expect, test } from "bun:test";
import { lstatSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";

const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-e2e-cli-"));
afterAll(() => rmSync(directory, { recursive: true }));

const random = (bytes: number) => {
  const data = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i += 65_536) crypto.getRandomValues(data.subarray(i, Math.min(i + 65_536, bytes)));
  return data;
};

test("cp copies a directory in and out: bytes, names, modes, links, empty directories", async () => {
  await using sandbox = await sandboxOf(platform());
  const source = join(directory, "source");
  mkdirSync(join(source, "sub dir/deep"), { recursive: true });
  mkdirSync(join(source, "empty"));
  writeFileSync(join(source, "large"), random(3_000_000));
  writeFileSync(join(source, "program"), "#!/bin/sh\necho I run\n", { mode: 0o755 });
  writeFileSync(join(source, "secret"), "s", { mode: 0o600 });
  for (let i = 0; i < 250; i++) writeFileSync(join(source, `sub dir/deep/${i} ž 'x'`), `${i}`);
  symlinkSync("../program", join(source, "sub dir/link"));
  symlinkSync("/etc/passwd", join(source, "outside"));
  symlinkSync("nowhere", join(source, "dangling"));
  symlinkSync("deep/../../program", join(source, "sub dir/round"));
  symlinkSync("loop", join(source, "loop"));

  const up = await boxyard(platform(), ["cp", source, `${sandbox.id}:`]);
  expect([up.exitCode, up.stdout]).toEqual([0, ""]);
  const inside = await boxyard(platform(), [
    "exec",
    sandbox.id,
    "--",
    "sh",
    "-c",
    "cd source; './sub dir/link'; stat -c %a secret; readlink outside",
  ]);
  expect(inside.stdout).toBe("I run\n600\n/etc/passwd\n");

  const down = await boxyard(platform(), ["cp", `${sandbox.id}:source`, join(directory, "back")]);
  expect(down.exitCode).toBe(0);
  expect(down.stderr).toContain('skipped "outside"');
  expect(readFileSync(join(directory, "back/large"))).toEqual(readFileSync(join(source, "large")));
  expect(readFileSync(join(directory, "back/sub dir/deep/249 ž 'x'"), "utf8")).toBe("249");
  expect([lstatSync(join(directory, "back/program")).mode & 0o777, lstatSync(join(directory, "back/empty")).isDirectory()]).toEqual([
    0o755,
    true,
  ]);
  const links = ["sub dir/link", "dangling", "sub dir/round", "loop"].map((name) => readlinkSync(join(directory, "back", name)));
  expect(links).toEqual(["../program", "nowhere", "deep/../../program", "loop"]);
  // A copy into a directory replaces what has the same name there, links too.
  const change = "cd source && echo changed > secret && ln -sfn elsewhere dangling";
  expect((await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", change])).exitCode).toBe(0);
  expect((await boxyard(platform(), ["cp", `${sandbox.id}:source`, directory])).exitCode).toBe(0);
  expect([readFileSync(join(source, "secret"), "utf8"), readlinkSync(join(source, "dangling"))]).toEqual(["changed\n", "elsewhere"]);
}, 60_000);

test("cp of DIRECTORY/. copies the content of the directory, in both directions, as cp -r does", async () => {
  await using sandbox = await sandboxOf(platform());
  const source = join(directory, "contents");
  mkdirSync(join(source, "deep"), { recursive: true });
  writeFileSync(join(source, "deep/file"), "deep\n");
  writeFileSync(join(source, ".hidden"), "hidden\n");
  symlinkSync("deep/file", join(source, "link"));
  const copy = async (from: string, to: string) => {
    expect(await boxyard(platform(), ["cp", from, to])).toMatchObject({ exitCode: 0, stdout: "" });
  };
  const inside = (path: string) => boxyard(platform(), ["exec", sandbox.id, "--", "find", path, "-mindepth", "1", "-printf", "%P\n"]);
  const names = [".hidden", "deep", "deep/file", "link"];
  for (const target of ["/tmp/new", "/tmp/new", "/tmp/other/"]) {
    await copy(`${source}/.`, `${sandbox.id}:${target}`);
    expect((await inside(target)).stdout.trim().split("\n").sort()).toEqual(names);
  }
  await copy(`${source}/.`, `${sandbox.id}:`);
  expect((await boxyard(platform(), ["exec", sandbox.id, "--", "cat", "deep/file"])).stdout).toBe("deep\n");

  for (const target of [join(directory, "new"), join(directory, "new"), `${join(directory, "other")}/`]) {
    await copy(`${sandbox.id}:/tmp/new/.`, target);
    expect(readdirSync(target, { recursive: true }).sort()).toEqual(names);
    expect([readFileSync(join(target, ".hidden"), "utf8"), readlinkSync(join(target, "link"))]).toEqual(["hidden\n", "deep/file"]);
  }
  // Without /. the directory itself, also of a home directory.
  await copy(`${sandbox.id}:`, join(directory, "other"));
  expect(readFileSync(join(directory, "other/user/deep/file"), "utf8")).toBe("deep\n");
  for (const [from, to] of [
    [`${sandbox.id}:/tmp/new/.hidden/.`, directory],
    [`${source}/.hidden/.`, `${sandbox.id}:`],
  ] as const) {
    expect((await boxyard(platform(), ["cp", from, to])).exitCode).not.toBe(0);
  }
}, 60_000);

test("sandbox info shows what happens at the end of the lifetime, as set by sandbox create", async () => {
  for (const [options, shown] of [
    [[], "kill"],
    [["--on-timeout", "pause", "--auto-resume"], "pause, auto-resume"],
  ] as const) {
    const id = (await boxyard(platform(), ["sandbox", "create", ...options])).stdout.trim();
    expect((await boxyard(platform(), ["sandbox", "info", id])).stdout).toMatch(new RegExp(`^timeout +${shown}$`, "m"));
    expect((await boxyard(platform(), ["rm", id])).exitCode).toBe(0);
  }
});

test("cp of one file: to a name, into a directory, and back; what is missing is said", async () => {
  await using sandbox = await sandboxOf(platform());
  const file = join(directory, "one.txt");
  writeFileSync(file, "one\n");
  await boxyard(platform(), ["cp", file, `${sandbox.id}:/tmp/new/name.txt`]);
  await boxyard(platform(), ["cp", file, `${sandbox.id}:/tmp/`]);
  const listed = await boxyard(platform(), ["exec", sandbox.id, "--", "cat", "/tmp/new/name.txt", "/tmp/one.txt"]);
  expect(listed.stdout).toBe("one\none\n");
  await boxyard(platform(), ["cp", `${sandbox.id}:/tmp/new/name.txt`, directory]);
  expect(readFileSync(join(directory, "name.txt"), "utf8")).toBe("one\n");
  const missing = await boxyard(platform(), ["cp", `${sandbox.id}:/no/such`, directory]);
  expect(missing.exitCode).toBe(1);
  expect(missing.stderr).toContain("/no/such");
}, 60_000);

test("cp to '-' is standard output; a copy that fails leaves nothing; counts are right", async () => {
  await using sandbox = await sandboxOf(platform());
  const script = "mkdir d one; head -c 300000 /dev/zero > zeros; echo x > one/x; echo y > d/y; truncate -s 4G d/large";
  await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", script]);
  expect((await boxyard(platform(), ["cp", `${sandbox.id}:zeros`, "-"])).stdout).toBe("\0".repeat(300_000));
  const whole = await boxyard(platform(), ["cp", `${sandbox.id}:one`, "-"]);
  expect([whole.exitCode, whole.stdout]).toEqual([2, ""]);
  expect(whole.stderr).toContain("'-' takes one file");
  expect((await boxyard(platform(), ["cp", `${sandbox.id}:one`, join(directory, "one")])).stderr).toStartWith("copied 1 file: ");
  const target = join(directory, "fails");
  mkdirSync(target);
  for (const source of ["d", "d/large"]) {
    const child = Bun.spawn([BOXYARD, "cp", `${sandbox.id}:${source}`, target], { env: platform().env, stderr: "pipe" });
    await eventually("it has begun", () =>
      readdirSync(target, { recursive: true, encoding: "utf8" }).some((name) => name.includes(".large.")),
    );
    child.kill("SIGTERM");
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([143, ""]);
    expect(readdirSync(target)).toEqual([]);
  }
}, 60_000);

test("a download never writes through a link that the sandbox put in the way", async () => {
  await using sandbox = await sandboxOf(platform());
  const target = join(directory, "trap");
  const outside = join(directory, "outside");
  mkdirSync(target);
  mkdirSync(outside);
  symlinkSync(outside, join(target, "d"));
  await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", "mkdir -p trap/d; echo x > trap/d/f; ln -s d/f trap/l"]);
  const copied = await boxyard(platform(), ["cp", `${sandbox.id}:trap`, directory]);
  expect([copied.exitCode, copied.stderr]).toEqual([1, `error: ${join(target, "d")} exists and is not a directory\n`]);
  expect(await Array.fromAsync(new Bun.Glob("**").scan({ cwd: outside }))).toEqual([]);
  rmSync(join(target, "d"));
  expect((await boxyard(platform(), ["cp", `${sandbox.id}:trap`, directory])).exitCode).toBe(0);
  expect([readFileSync(join(target, "d/f"), "utf8"), readlinkSync(join(target, "l"))]).toEqual(["x\n", "d/f"]);
}, 60_000);

test("watch shows changes as they happen, until Ctrl-C", async () => {
  await using sandbox = await sandboxOf(platform());
  const child = Bun.spawn([BOXYARD, "watch", sandbox.id, "--json"], { env: platform().env, stdout: "pipe", stderr: "pipe" });
  const notes = child.stderr.getReader();
  expect(new TextDecoder().decode((await notes.read()).value)).toContain("watching");
  await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", "echo x > seen; rm seen"]);
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes('"remove"')) text += new TextDecoder().decode((await reader.read()).value);
  child.kill("SIGINT");
  expect(await child.exited).toBe(130);
  const events = text
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { type: string; name: string });
  expect([events[0], events.at(-1)]).toEqual([
    { type: "create", name: "seen" },
    { type: "remove", name: "seen" },
  ]);
}, 60_000);

test("60 runs of exec in one sandbox, ten at a time, each get their own output", async () => {
  await using sandbox = await sandboxOf(platform());
  const results: string[] = [];
  let next = 0;
  const worker = async () => {
    for (let i = next++; i < 60; i = next++) results[i] = (await boxyard(platform(), ["exec", sandbox.id, "--", "echo", `${i}`])).stdout;
  };
  await Promise.all(Array.from({ length: 10 }, worker));
  expect(results).toEqual(Array.from({ length: 60 }, (_, i) => `${i}\n`));
}, 120_000);

test("an impossible request is refused with the next step, and changes nothing", async () => {
  await using sandbox = await sandboxOf(platform());
  const { id } = sandbox;
  const gone = "iaaaaaaaaaaaaaaaaaaaa";
  const usage: [args: string[], said: string][] = [
    [["sandbox", "timeout", id, "soon"], "give a number of seconds above 0"],
    [["port", id, "70000"], "a port is a whole number from 1 to 65535"],
    [["cp", `${id}:/etc/hostname`, join(directory, "no/such/directory/x")], "there is no directory"],
    [["cp", join(directory, "nothing"), `${id}:`], "there is no"],
    [["sandbox", "list", "--state", "asleep"], "Allowed choices are running, paused"],
  ];
  const own: [args: string[], said: string][] = [
    [["exec", id, "--user", "root", "--", "id"], `options go before the sandbox: boxyard exec --user … ${id} -- COMMAND`],
    [["shell", id], "a shell needs a terminal"],
  ];
  const failures: [args: string[], said: string][] = [
    [["port", gone, "8000"], "`boxyard sandbox list` shows the sandboxes there are"],
    [["watch", id, "/nowhere"], "/nowhere"],
    [["sandbox", "rollback", id, "base"], "is no snapshot of this sandbox"],
    [["snapshot", "create", id, "--name", "base"], "the name of a template"],
    [["snapshot", "delete", "none"], "no snapshot none"],
  ];
  const ending = (exitCode: number) => (entry: readonly [args: string[], said: string]) => [exitCode, ...entry] as const;
  const all = [...usage.map(ending(2)), ...own.map(ending(125)), ...failures.map(ending(1))];
  const results = await Promise.all(all.map(([, args]) => boxyard(platform(), args)));
  for (const [i, [exitCode, args, said]] of all.entries()) {
    const ended = results[i];
    expect([args, ended?.exitCode, ended?.stdout]).toEqual([args, exitCode, ""]);
    expect(ended?.stderr).toContain(said);
  }
  for (const args of [
    ["sandbox", "pause", "--no-memory", id],
    ["sandbox", "resume", id],
  ]) {
    expect((await boxyard(platform(), args)).exitCode).toBe(0);
  }
  expect((await boxyard(platform(), ["exec", id, "--", "echo", "there"])).stdout).toBe("there\n");
}, 60_000);

test("a snapshot is kept, listed, started from, rolled back to and deleted; copies are made of a sandbox", async () => {
  await using sandbox = await sandboxOf(platform());
  const { id } = sandbox;
  const run = async (...args: string[]) => {
    const { exitCode, stdout, stderr } = await boxyard(platform(), args);
    expect([args, exitCode, stderr.replace(/^(sandbox|no) .*\n$/, "")]).toEqual([args, 0, ""]);
    return stdout.trim();
  };
  const read = (of: string) => run("exec", of, "--", "cat", "/tmp/work");
  await run("exec", id, "--", "sh", "-c", "echo good > /tmp/work");
  expect(await run("snapshot", "create", id, "--name", "of-cli")).toBe("default/of-cli:default");
  await run("exec", id, "--", "sh", "-c", "echo bad > /tmp/work");
  expect(await run("snapshot", "list", "--sandbox", id)).toContain("default/of-cli:default");
  const clone = await run("sandbox", "create", "of-cli");
  expect([await read(clone), await read(id)]).toEqual(["good", "bad"]);
  await run("rm", clone);
  const copies = (await run("sandbox", "fork", id, "--count", "2", "--timeout", "5m")).split("\n");
  expect([copies.length, await read(copies[1] ?? "")]).toEqual([2, "bad"]);
  await run("rm", ...copies);
  await run("sandbox", "rollback", id, "of-cli");
  expect(await read(id)).toBe("good");
  expect(await run("snapshot", "delete", "of-cli")).toBe("of-cli");
  expect(await run("snapshot", "list")).not.toContain("of-cli");
}, 120_000);

test("colours on a terminal only, and not with NO_COLOR or on a dumb one", async () => {
  const wrong = `${BOXYARD} sandbox info nonsense`;
  const onTerminal = async (env: Record<string, string>) =>
    (await runProgram(["script", "-qec", wrong, "/dev/null"], { env: { ...platform().env, TERM: "xterm", ...env } })).stdout;
  const red = "\x1b[31merror:\x1b[39m there is no sandbox 'nonsense'";
  expect(await onTerminal({})).toContain(red);
  for (const env of [{ NO_COLOR: "1" }, { TERM: "dumb" }]) {
    const plain = await onTerminal(env);
    expect([plain.includes("error: there is no sandbox 'nonsense'"), plain.includes("\x1b")]).toEqual([true, false]);
  }
  expect((await boxyard(platform(), ["sandbox", "info", "nonsense"], { env: { TERM: "xterm" } })).stderr).toStartWith(
    "error: there is no sandbox",
  );
}, 60_000);
