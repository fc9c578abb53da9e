import { expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
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

/** The commands in the README's table. A name without `./boxyard` in front stands for the last word of the command before it. */
function commandsOfTable(): string[] {
  const rows = readFileSync(join(CHECKOUT, "README.md"), "utf8").match(/^\| `\.\/boxyard .*?` \|/gm) ?? [];
  return rows.flatMap((row) => {
    let before: string[] = [];
    return [...row.matchAll(/`([^`]+)`/g)].map(([, text = ""]) => {
      const words = /^[a-z]+( [a-z]+)*/.exec(text.replace("./boxyard ", ""))?.[0].split(" ") ?? [];
      before = text.startsWith("./boxyard ") ? words : [...before.slice(0, -1), ...words];
      return before.join(" ");
    });
  });
}

test("the commands of the table are there", async () => {
  const commands = commandsOfTable();
  expect(commands).toEqual(
    expect.arrayContaining(["run", "up", "down", "service remove", "kill", "sandbox pause", "sandbox resume", "key"]),
  );
  for (const command of commands) {
    // The command of a checkout runs the tests itself.
    if (command === "test") continue;
    const argv = [process.execPath, "packages/cli/src/main.ts", ...command.split(" "), "--help"];
    const help = await runProgram(argv, { cwd: CHECKOUT, env: platform().env });
    expect([command, help.exitCode]).toEqual([command, 0]);
    expect(help.stdout).toContain(`Usage: boxyard ${command}`);
  }
}, 60_000);
