import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, readTestConfig, runProgram } from "@boxyard/testkit";
import { usePlatform } from "./support/platform.ts";

const platform = usePlatform();

/** What each program of `examples/` prints. */
const PRINTS: Readonly<Record<string, RegExp>> = {
  "first-program.ts": /^the answer is 42\n$/,
  // On a busy machine the program that takes all memory meets its limit of time first: filling 1 GiB takes seconds then.
  "untrusted-code.ts":
    /^fine: 4950\nwrong: ZeroDivisionError: division by zero\nendless: took too long\ngreedy: (MemoryError|signal: killed.*|.*Killed.*|took too long)\n$/,
  "stream-output.ts": /^step 1\nstep 2\nstep 3\n(stdout \[ "49", "64" \]|stdout \[ "49" \]\nstdout \[ "64" \])\n$/,
  "files.ts":
    /^-rw-r--r-- 4 1\.txt\n-rw-r--r-- 4 2\.txt\n-rw-r--r-- 6 3\.txt\n"one\\ntwo\\nthree\\n"\nthe link gives 14 bytes\nthe watch saw 1\.txt come\n$/,
  "large-upload.ts": /^50 %\n100 %\n50000000\n(\..*\n)*large\.bin\n$/,
  "git.ts": /^louder: hello\.py is modified\n$/,
  "template.ts": /^hello\n<h1>from a template<\/h1>\n$/,
  "web-server.ts": /^200 <h1>hello from a sandbox<\/h1>\n$/,
  "terminal.ts": /^the shell ended with 3\nit saw a window of 40 rows and 100 columns\n$/,
  "many-at-once.ts": /^3: 3\n14: 2 7\n15: 3 5\n92: 2 2 23\n65: 5 13\n35: 5 7\n$/,
  "come-back-later.ts": /^it lives for 5 more minutes\ndone while nobody looked\n$/,
};

/** What an example says on standard error, where it says anything. */
const LOGS: Readonly<Record<string, RegExp>> = { "template.ts": /^Build finished, took \d+s$/m };

test("every example has its output written down here", () => {
  const programs = readdirSync(join(CHECKOUT, "examples")).filter((name) => name.endsWith(".ts"));
  expect(programs.sort()).toEqual(Object.keys(PRINTS).sort());
});

test("the commands of examples/README.md do what they say, as they stand", async () => {
  const readme = readFileSync(join(CHECKOUT, "examples/README.md"), "utf8");
  const commands = /```sh\n([\s\S]*?)```/
    .exec(readme)?.[1]
    ?.replace("bun-linux-x64", process.arch === "arm64" ? "bun-linux-aarch64" : "bun-linux-x64");
  const { dataDir, apiUrl } = platform();
  const env = { ...readTestConfig().env, BOXYARD_DATA: dataDir, BOXYARD_LISTEN: new URL(apiUrl).host };
  const ended = await runProgram(["sh", "-ec", commands ?? "false"], { cwd: CHECKOUT, env });
  expect({ exitCode: ended.exitCode, stdout: ended.stdout.split("\n").slice(-2) }).toEqual({
    exitCode: 0,
    stdout: ["the answer is 42", ""],
  });
});

for (const [name, prints] of Object.entries(PRINTS)) {
  test(`examples/${name} runs and prints what it should`, async () => {
    const { exitCode, stdout, stderr } = await runProgram([process.execPath, join(CHECKOUT, "examples", name)], { env: platform().env });
    expect({ exitCode, stderr }).toEqual({ exitCode: 0, stderr: expect.stringMatching(LOGS[name] ?? /^$/) });
    expect(stdout).toMatch(prints);
    expect((await platform().api({ path: "/v2/sandboxes" })).body).toEqual([]);
  });
}
