import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readTestConfig, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { BOXYARD, boxyard, sandboxOf } from "./support.ts";
import { Terminal } from "./tmux.ts";

const platform = usePlatform();
const directory = mkdtempSync(join(tmpdir(), "boxyard-habits-"));
afterAll(() => rmSync(directory, { recursive: true, force: true }));

test("run -it and exec -it are terminals", async () => {
  await using sandbox = await sandboxOf(platform());
  await using terminal = await Terminal.open(platform().env, { cols: 100, rows: 30 });
  await terminal.type(`${BOXYARD} run -it -- sh -c 'tty; stty size; exit 4'; echo "ended with $?"`);
  await terminal.shows(/^\/dev\/pts\/\d+\n30 100\nended with 4$/m);
  await terminal.type(`clear; ${BOXYARD} exec -it ${sandbox.id} -- sh -c 'tty; read line; echo "it read $line"'; echo "ended with $?"`);
  await terminal.shows(/^\/dev\/pts\/\d+$/m);
  await terminal.type("words");
  await terminal.shows(/^it read words\nended with 0$/m);
}, 60_000);

test("template delete asks on a terminal, and does nothing without a yes", async () => {
  await using terminal = await Terminal.open(platform().env, { cols: 100, rows: 30 });
  await terminal.type(`${BOXYARD} template delete base; echo "ended with $?"`);
  await terminal.shows(/Delete base with all builds and tags\? \[y\/N\]/);
  await terminal.type("n");
  await terminal.shows(/^error: nothing has been done\nended with 1$/m);
  expect((await platform().api({ path: "/templates/aliases/base" })).status).toBe(200);
}, 60_000);

test("uninstall without root fails and says why", async () => {
  const asNobody = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups", process.execPath];
  const main = join(import.meta.dir, "../../packages/cli/src/main.ts");
  const env = { ...readTestConfig().env, BOXYARD_DATA: platform().dataDir };
  const ended = await runProgram([...asNobody, main, "uninstall", "--yes"], { env });
  expect([ended.exitCode, ended.stdout]).toEqual([1, ""]);
  expect(ended.stderr).toStartWith("error: only root can release this machine's network, mounts and cgroups\n");
  expect((await fetch(`${platform().apiUrl}/health`)).status).toBe(200);
}, 60_000);

test("uninstall of a directory that is none of ours removes nothing, and says so", async () => {
  const dataDir = join(directory, "thesis");
  mkdirSync(dataDir);
  writeFileSync(join(dataDir, "thesis.tex"), "");
  const env = { ...readTestConfig().env, BOXYARD_DATA: dataDir };
  const ended = await runProgram([BOXYARD, "uninstall", "--yes"], { env });
  expect({ ...ended, ms: 0 }).toEqual({
    exitCode: 1,
    stdout: "",
    stderr: `${dataDir} is no data directory of Boxyard's on this machine.\nerror: nothing was removed\nBOXYARD_DATA says which directory is meant.\n`,
    ms: 0,
  });
  expect(readdirSync(dataDir)).toEqual(["thesis.tex"]);
}, 60_000);

test("run -q says nothing but what the command says", async () => {
  const ended = await boxyard(platform(), ["run", "-q", "--keep", "--", "echo", "words"]);
  expect([ended.exitCode, ended.stdout, ended.stderr]).toEqual([0, "words\n", expect.stringMatching(/^i[a-z0-9]{20}\n$/)]);
  expect((await boxyard(platform(), ["rm", ended.stderr.trim()])).exitCode).toBe(0);
  const failed = await boxyard(platform(), ["run", "-q", "-t", "absent", "--", "true"]);
  expect([failed.exitCode, failed.stderr]).toEqual([125, expect.stringMatching(/^error: /)]);
}, 60_000);

test("a template's sandboxes have the disk that it was built with", async () => {
  const dockerfile = "FROM boxyard/base\nRUN dd if=/dev/zero of=/large bs=1M count=80 status=none && rm /large\n";
  writeFileSync(join(directory, "Dockerfile"), dockerfile);
  const built = await boxyard(platform(), ["template", "build", "small-disk", directory, "--disk", "64"], { limitMs: 120_000 });
  expect([built.exitCode, built.exitCode === 0 ? "" : built.stderr]).toEqual([0, ""]);
  expect((await boxyard(platform(), ["template", "info", "small-disk"])).stdout).toMatch(/disk\s+64(\.0)? MiB/);
  const write = (mib: number) =>
    boxyard(platform(), ["run", "-q", "-t", "small-disk", "--", "dd", "if=/dev/zero", "of=file", "bs=1M", `count=${mib}`, "status=none"]);
  expect(await write(32)).toMatchObject({ exitCode: 0, stderr: "" });
  expect(await write(80)).toMatchObject({ exitCode: 1, stderr: expect.stringContaining("Disk quota exceeded") });
}, 180_000);

test("commands that only look start no server, and set nothing up", async () => {
  const dataDir = join(directory, "data");
  const env = { ...readTestConfig().env, BOXYARD_DATA: dataDir, BOXYARD_LISTEN: "127.0.0.1:0" };
  for (const args of [
    ["ls"],
    ["sandbox", "list"],
    ["template", "list"],
    ["key", "list"],
    ["snapshot", "list"],
    ["sandbox", "info", "x"],
    ["ps", "x"],
  ]) {
    const ended = await runProgram([BOXYARD, ...args], { env });
    expect([args, ended.exitCode, ended.stderr]).toEqual([
      args,
      1,
      "error: no server is running on this machine\n`boxyard up -d` starts one.\n",
    ]);
  }
  expect(existsSync(dataDir)).toBe(false);
}, 60_000);
