import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { block } from "../support/documents.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
const project = mkdtempSync(join(tmpdir(), "boxyard-tasks-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const text = readFileSync(join(CHECKOUT, "docs/sdk.md"), "utf8");
const front = text.slice(text.indexOf("## Eleven tasks"), text.indexOf("\n# Reference"));

/** The first block of a language in a part of the document. */
const blockOf = (part: string, language: string) => new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``).exec(part)?.[1];

/** What a program prints whose pieces are cut as the network cuts them. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  "3. Show output as it comes, and give input": /^> first line\n(> )?second line\n23 characters, exit code 0\n$/,
};

const tasks = front
  .split("\n### ")
  .slice(1)
  .map((part) => ({ title: part.split("\n", 1)[0] as string, program: blockOf(part, "ts"), prints: blockOf(part, "text") }));

beforeAll(async () => {
  const install = blockOf(front, "sh")?.split("\n")[0]?.replace("http://127.0.0.1:3000", platform().apiUrl) ?? "";
  expect(install).toStartWith("npm install ");
  const installed = await runProgram(["sh", "-ec", install], { cwd: project, env: platform().env, limitMs: 120_000 });
  expect({ exitCode: installed.exitCode, output: installed.exitCode === 0 ? "" : installed.stderr }).toEqual({ exitCode: 0, output: "" });
}, 150_000);

test("the front half of docs/sdk.md has eleven tasks", () => {
  expect(tasks.map(({ title }) => Number.parseInt(title, 10))).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]);
});

for (const { title, program, prints } of tasks) {
  test(`docs/sdk.md, ${title}: the program runs as it stands and prints what the document says`, async () => {
    writeFileSync(join(project, "task.mjs"), program ?? "throw new Error('no program')");
    const ended = await runProgram(["node", "task.mjs"], { cwd: project, env: platform().env, limitMs: 60_000 });
    expect({ exitCode: ended.exitCode, stderr: ended.stderr }).toEqual({ exitCode: 0, stderr: "" });
    if (PRINTS[title]) expect(ended.stdout).toMatch(PRINTS[title]);
    else expect(ended.stdout).toBe(prints ?? "");
    expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
  }, 90_000);
}

test.each([
  ["packages/sdk/PACKAGE.md", "node", "hello\n\n"],
  // Its `await using` is TypeScript's, which Bun runs and Node 20 does not.
  ["packages/sdk/README.md", process.execPath, ""],
])(
  "the program of %s runs as it stands",
  async (document, runtime, stdout) => {
    writeFileSync(join(project, "short.mjs"), block(document, "ts"));
    const ended = await runProgram([runtime, "short.mjs"], { cwd: project, env: platform().env });
    expect({ ...ended, ms: 0 }).toEqual({ exitCode: 0, stdout, stderr: "", ms: 0 });
    expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
  },
  60_000,
);

test("the npm package's own README installs as docs/sdk.md does", () => {
  const [install = "", variables] = block("packages/sdk/PACKAGE.md", "sh").split("\n");
  expect(front).toContain(`${install}\n`);
  expect(variables).toBe('eval "$(boxyard env)"');
});
