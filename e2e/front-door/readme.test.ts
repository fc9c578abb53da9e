import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { block as blockOf } from "../support/documents.ts";
import { usePlatform } from "../support/platform.ts";
import { pythonClient } from "../support/published.ts";

const platform = usePlatform();
/** A block of the README. */
const block = (language: string, part: string) => blockOf("README.md", language, part);

test("the two commands stand there as the tests run them", () => {
  expect(block("sh", "./boxyard run")).toBe("./boxyard run -- python3 -c 'print(6*7)'\n");
  expect(block("sh", "boxyard env")).toBe('eval "$(./boxyard env)"\n');
});

test("the program for Node works as written, in an empty directory, with the client that the server serves", async () => {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-readme-"));
  try {
    const install = block("sh", "npm install").replace("http://127.0.0.1:3000", platform().apiUrl);
    const installed = await runProgram(["sh", "-ec", install], { cwd: directory, env: platform().env, limitMs: 120_000 });
    expect({ exitCode: installed.exitCode, output: installed.exitCode === 0 ? "" : installed.stderr }).toEqual({ exitCode: 0, output: "" });
    writeFileSync(join(directory, "hello.mjs"), block("ts", "@boxyard/sdk"));
    const ended = await runProgram(["node", "hello.mjs"], { cwd: directory, env: platform().env });
    expect({ ...ended, ms: 0 }).toEqual({ exitCode: 0, stdout: "written from outside\nLinux\n\n", stderr: "", ms: 0 });
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}, 180_000);

test("the Python program works as written", async () => {
  const ended = await runProgram([await pythonClient(), "-c", block("python", "from e2b")], { env: platform().env });
  expect({ ...ended, ms: 0 }).toEqual({ exitCode: 0, stdout: "written from outside\nLinux\n\n", stderr: "", ms: 0 });
}, 240_000);

test("the commands of the table are there", async () => {
  for (const name of ["run", "up", "down", "env", "doctor"]) {
    const help = await runProgram([process.execPath, "packages/cli/src/main.ts", name, "--help"], { cwd: CHECKOUT, env: platform().env });
    expect([name, help.exitCode]).toEqual([name, 0]);
    expect(help.stdout).toContain(name);
  }
});
