import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Recordings, Sandbox } from "@boxyard/sdk";
import { eventually, runProgram } from "@boxyard/testkit";
import { BOXYARD, boxyard } from "../cli/support.ts";
import { block } from "../support/documents.ts";
import { usePlatform } from "../support/platform.ts";

const DOCUMENT = "docs/recordings.md";
const platform = usePlatform();
const project = mkdtempSync(join(tmpdir(), "boxyard-recordings-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

/** The host from which this machine installs npm packages: one that it reaches by HTTPS. */
let host = "";
/** Not of an earlier run that was cut off. */
const life = `life-${randomBytes(4).toString("hex")}`;
const ours = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
/** What the document says, with a host that answers here. */
const said = (language: string) => block(DOCUMENT, language).replaceAll("example.com", host);

/** The names of the document's recordings that are there. */
const documented = async () => (await Recordings.list(ours())).map(({ name }) => name).filter((name) => name === "page" || name === "copy");

beforeAll(async () => {
  for (const name of await documented()) await Recordings.delete(name, ours());
  const asked = Bun.spawn(["npm", "config", "get", "registry"], { stdout: "pipe" });
  host = new URL((await new Response(asked.stdout).text()).trim()).hostname;
  const install = ["npm", "install", `${platform().apiUrl}/sdk/npm.tgz`];
  expect(await runProgram(install, { cwd: project, env: platform().env, limitMs: 120_000 })).toMatchObject({ exitCode: 0 });
  mkdirSync(join(project, "bin"));
  symlinkSync(BOXYARD, join(project, "bin/boxyard"));
}, 150_000);

test("docs/recordings.md: the program runs as it stands and prints what the document says", async () => {
  writeFileSync(join(project, "task.mjs"), said("ts"));
  const ended = await runProgram(["node", "task.mjs"], { cwd: project, env: platform().env, limitMs: 90_000 });
  expect({ exitCode: ended.exitCode, stderr: ended.stderr, stdout: ended.stdout }).toEqual({
    exitCode: 0,
    stderr: "",
    stdout: said("text"),
  });
  expect(await documented()).toEqual([]);
}, 120_000);

test("docs/recordings.md: the commands do what they say, as they stand", async () => {
  const env = { ...platform().env, HOME: project, PATH: `${join(project, "bin")}:${platform().env.PATH}` };
  const ended = await runProgram(["bash", "-ec", said("sh")], { cwd: project, env, limitMs: 120_000 });
  expect({ exitCode: ended.exitCode, output: ended.exitCode === 0 ? "" : ended.stdout + ended.stderr }).toEqual({
    exitCode: 0,
    output: "",
  });
  expect(ended.stdout).toMatch(new RegExp(`GET +\\d{3} .* https://${host}/\n`));
  expect(ended.stdout).toContain("1 exchanges\n");
  expect(await documented()).toEqual([]);
}, 150_000);

test("a recording goes on through a pause, a fork and a death of the server, and its replay does too", async () => {
  const sandbox = await Sandbox.create({ ...ours(), network: { record: life } });
  const ask = async ({ commands }: Sandbox, path: string) =>
    (await commands.run(`curl -s --max-time 30 -o /dev/null -w '%{http_code}' 'https://${host}/?${path}'`)).stdout;
  const answers: Record<string, string> = {};
  const keep = async (of: Sandbox, path: string) => {
    answers[path] = await ask(of, path);
    expect(answers[path]).not.toBe("504");
  };
  await keep(sandbox, "running");
  for (const keepMemory of [true, false]) {
    await sandbox.pause({ keepMemory });
    await keep(await Sandbox.connect(sandbox.sandboxId, ours()), `paused-${keepMemory}`);
  }
  const [copy] = await sandbox.fork();
  if (!copy || "error" in copy) throw copy?.error ?? new Error("there is no fork");
  await keep(copy.sandbox, "forked");
  await copy.sandbox.kill();
  await platform().kill9();
  await platform().restart();
  await keep(sandbox, "after");
  const { exchanges, incomplete } = await eventually("all are kept", async () => {
    const found = await Recordings.get(life, ours());
    return found.count === 5 && found;
  });
  expect([exchanges.map(({ url }) => url.split("?")[1]), incomplete]).toEqual([Object.keys(answers), undefined]);
  await sandbox.kill();

  const again = await Sandbox.create({ ...ours(), network: { replay: life } });
  const replayed = async () => {
    for (const [path, answer] of Object.entries(answers)) expect([path, await ask(again, path)]).toEqual([path, answer]);
    expect(await ask(again, "never")).toBe("504");
  };
  await replayed();
  await again.pause();
  await Sandbox.connect(again.sandboxId, ours());
  await replayed();
  await platform().kill9();
  await platform().restart();
  await replayed();
  const log = await eventually("the miss is in the record", async () => {
    const { stdout } = await boxyard(platform(), ["sandbox", "network-log", again.sandboxId, "--denied"]);
    return stdout.includes("never") && stdout;
  });
  expect(log).toContain(` denied  http GET https://${host}/?never  no answer to it is in the recording\n`);
  await again.kill();
  expect(await Recordings.delete(life, ours())).toBe(true);
}, 240_000);
