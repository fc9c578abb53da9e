import { afterAll, beforeAll, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { BOXYARD, boxyard } from "../cli/support.ts";
import { block } from "../support/documents.ts";
import { usePlatform } from "../support/platform.ts";

const DOCUMENT = "docs/keep-data.md";
const platform = usePlatform();
/** A team of this run: the document's names are free in it, whatever other files leave on this platform. */
const team = `keep-data-${randomBytes(4).toString("hex")}`;
let key = "";
const project = mkdtempSync(join(tmpdir(), "boxyard-keep-data-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const sections = readFileSync(join(CHECKOUT, DOCUMENT), "utf8")
  .split("\n## ")
  .slice(1)
  .map((part) => {
    const of = (language: string) => new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\``, "m").exec(part)?.[1];
    return { title: part.split("\n", 1)[0] as string, program: of("ts"), prints: of("text") };
  });

const environment = () => ({ ...platform().env, BOXYARD_API_KEY: key });
const list = async (path: string) => (await platform().api({ path, headers: { "X-API-Key": key } })).body;

beforeAll(async () => {
  const created = await boxyard(platform(), ["team", "create", team]);
  expect(created).toMatchObject({ exitCode: 0 });
  key = created.stdout.trim();
  const install = ["npm", "install", `${platform().apiUrl}/sdk/npm.tgz`];
  expect(await runProgram(install, { cwd: project, env: platform().env, limitMs: 120_000 })).toMatchObject({ exitCode: 0 });
  mkdirSync(join(project, "bin"));
  symlinkSync(BOXYARD, join(project, "bin/boxyard"));
}, 150_000);

test("docs/keep-data.md has a program for a volume, a snapshot and a pause", () => {
  expect(sections.map(({ title }) => title.split(":")[0])).toEqual(["Volume", "Snapshot", "Pause"]);
});

for (const { title, program, prints } of sections) {
  test(`docs/keep-data.md, ${title}: the program runs as it stands and prints what the document says`, async () => {
    writeFileSync(join(project, "task.mjs"), program ?? "throw new Error('no program')");
    const ended = await runProgram(["node", "task.mjs"], { cwd: project, env: environment(), limitMs: 60_000 });
    expect({ exitCode: ended.exitCode, stderr: ended.stderr, stdout: ended.stdout }).toEqual({
      exitCode: 0,
      stderr: "",
      stdout: prints ?? "",
    });
    for (const path of ["/v2/sandboxes", "/volumes", "/snapshots"]) expect(await list(path)).toEqual([]);
  }, 90_000);
}

test("docs/keep-data.md: the commands do what they say, as they stand", async () => {
  const env = { ...environment(), HOME: project, PATH: `${join(project, "bin")}:${platform().env.PATH}` };
  const ended = await runProgram(["bash", "-ec", block(DOCUMENT, "sh")], { cwd: project, env, limitMs: 120_000 });
  expect({ exitCode: ended.exitCode, output: ended.exitCode === 0 ? "" : ended.stdout + ended.stderr }).toEqual({
    exitCode: 0,
    output: "",
  });
  expect(ended.stdout).toContain("0644  1000:1000  4 B  /a.txt\n");
  expect(ended.stdout).toMatch(/^one$/m);
  expect(ended.stdout).toMatch(/of 1\.0 GiB$/m);
  expect(await list("/volumes")).toEqual([]);
}, 150_000);

// A test, and the last one: `afterAll` comes when the server has ended.
test("the team of this run goes: the page has left nothing in it", async () => {
  expect((await boxyard(platform(), ["team", "delete", team])).stdout).toBe(`${team}\n`);
}, 60_000);
