import { afterAll, expect, test } from "bun:test";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";

const platform = usePlatform();
const folder = mkdtempSync(join(tmpdir(), "boxyard-e2e-cli-"));
afterAll(() => rmSync(folder, { recursive: true }));

const random = (bytes: number) => {
  const data = new Uint8Array(bytes);
  for (let i = 0; i < bytes; i += 65_536) crypto.getRandomValues(data.subarray(i, Math.min(i + 65_536, bytes)));
  return data;
};

test("cp copies a folder in and out: bytes, names, modes, links, empty folders", async () => {
  await using sandbox = await sandboxOf(platform());
  const source = join(folder, "source");
  mkdirSync(join(source, "sub dir/deep"), { recursive: true });
  mkdirSync(join(source, "empty"));
  writeFileSync(join(source, "large"), random(3_000_000));
  writeFileSync(join(source, "program"), "#!/bin/sh\necho I run\n", { mode: 0o755 });
  writeFileSync(join(source, "secret"), "s", { mode: 0o600 });
  for (let i = 0; i < 250; i++) writeFileSync(join(source, `sub dir/deep/${i} ž 'x'`), `${i}`);
  symlinkSync("../program", join(source, "sub dir/link"));
  symlinkSync("/etc/passwd", join(source, "outside"));

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

  const down = await boxyard(platform(), ["cp", `${sandbox.id}:source`, join(folder, "back")]);
  expect(down.exitCode).toBe(0);
  expect(down.stderr).toContain('skipped "outside"');
  expect(readFileSync(join(folder, "back/large"))).toEqual(readFileSync(join(source, "large")));
  expect(readFileSync(join(folder, "back/sub dir/deep/249 ž 'x'"), "utf8")).toBe("249");
  expect([lstatSync(join(folder, "back/program")).mode & 0o777, lstatSync(join(folder, "back/empty")).isDirectory()]).toEqual([
    0o755,
    true,
  ]);
  expect(readlinkSync(join(folder, "back/sub dir/link"))).toBe("../program");
}, 60_000);

test("cp of one file: to a name, into a folder, and back; what is missing is said", async () => {
  await using sandbox = await sandboxOf(platform());
  const file = join(folder, "one.txt");
  writeFileSync(file, "one\n");
  await boxyard(platform(), ["cp", file, `${sandbox.id}:/tmp/new/name.txt`]);
  await boxyard(platform(), ["cp", file, `${sandbox.id}:/tmp/`]);
  const listed = await boxyard(platform(), ["exec", sandbox.id, "--", "cat", "/tmp/new/name.txt", "/tmp/one.txt"]);
  expect(listed.stdout).toBe("one\none\n");
  await boxyard(platform(), ["cp", `${sandbox.id}:/tmp/new/name.txt`, folder]);
  expect(readFileSync(join(folder, "name.txt"), "utf8")).toBe("one\n");
  const missing = await boxyard(platform(), ["cp", `${sandbox.id}:/no/such`, folder]);
  expect(missing.exitCode).toBe(1);
  expect(missing.stderr).toContain("/no/such");
}, 60_000);

test("a download never writes through a link that the sandbox put in the way", async () => {
  await using sandbox = await sandboxOf(platform());
  const target = join(folder, "trap");
  const outside = join(folder, "outside");
  mkdirSync(target);
  mkdirSync(outside);
  symlinkSync(outside, join(target, "d"));
  await boxyard(platform(), ["exec", sandbox.id, "--", "sh", "-c", "mkdir -p trap/d; echo x > trap/d/f; ln -s d/f trap/l"]);
  const copied = await boxyard(platform(), ["cp", `${sandbox.id}:trap`, folder]);
  expect([copied.exitCode, copied.stderr]).toEqual([1, `error: ${join(target, "d")} exists and is no folder\n`]);
  expect(await Array.fromAsync(new Bun.Glob("**").scan({ cwd: outside }))).toEqual([]);
  rmSync(join(target, "d"));
  expect((await boxyard(platform(), ["cp", `${sandbox.id}:trap`, folder])).exitCode).toBe(0);
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
