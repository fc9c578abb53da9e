import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { block } from "../support/documents.ts";
import { usePlatform } from "../support/platform.ts";
import { npmFrameworks, pythonFrameworks } from "../support/published.ts";

const DOCUMENT = readFileSync(join(CHECKOUT, "docs/integrations.md"), "utf8");
const PYTHON_PROGRAM = join(CHECKOUT, "e2e/integrations/program.py");
const LIMIT_MS = 90_000;

/** The programs of the document, as they stand there, under the headings that they follow. */
const PROGRAMS = [...DOCUMENT.matchAll(/^## (.+)\n\n```(python|js)\n([\s\S]*?)```/gm)].map(([, name = "", language = "", text = ""]) => ({
  name,
  language,
  text,
}));

const platform = usePlatform();
let python = "";
let modules = "";
beforeAll(async () => {
  await ensureCodeInterpreter(platform());
  [python, modules] = [await pythonFrameworks(), join(await npmFrameworks(), "node_modules")];
}, 600_000);

test("the variables come from the README's command, as they do for every test", () => {
  expect(block("docs/integrations.md", "sh")).toBe(block("README.md", "sh", "boxyard env"));
});

test("every framework of the table has its program", () => {
  const rows = [...DOCUMENT.matchAll(/^\| ([^|]+) \| `/gm)].map(([, name]) => name?.trim() ?? "");
  expect(rows.length).toBeGreaterThanOrEqual(5);
  expect(PROGRAMS.map(({ name }) => name).sort()).toEqual(rows.sort());
});

async function run(language: string, text: string) {
  if (language === "python") return runProgram([python, PYTHON_PROGRAM, text], { env: platform().env, limitMs: LIMIT_MS });
  const directory = mkdtempSync(join(tmpdir(), "boxyard-integration-"));
  try {
    symlinkSync(modules, join(directory, "node_modules"));
    writeFileSync(join(directory, "program.mjs"), text);
    return await runProgram(["node", "program.mjs"], { cwd: directory, env: platform().env, limitMs: LIMIT_MS });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

describe("docs/integrations.md", () => {
  for (const { name, language, text } of PROGRAMS) {
    test(
      name,
      async () => {
        const ended = await run(language, text);
        expect({ exitCode: ended.exitCode, stderr: ended.exitCode === 0 ? "" : ended.stderr.slice(-2000) }).toEqual({
          exitCode: 0,
          stderr: "",
        });
        expect(ended.stdout).toContain("42");
        // Whatever a framework leaves behind would live on until its time is over.
        expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
      },
      LIMIT_MS + 10_000,
    );
  }
});
