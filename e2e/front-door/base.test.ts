import { expect, test } from "bun:test";
import { Sandbox } from "@boxyard/sdk";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();

/** What coding agents expect of a machine. */
const COMMANDS: readonly (readonly [command: string, output: RegExp])[] = [
  ["node -p 'process.versions.node.split(\".\")[0] >= 22'", /^true$/m],
  ["npm --version", /^\d+\./],
  ["echo 'int main(void) { return 42; }' > a.c && cc -o a a.c; ./a; echo $?", /^42$/m],
  ["printf 'all:\\n\\t@g++ --version\\n' > Makefile && make", /Free Software Foundation/],
  ["git init -q repository && git -C repository status --porcelain=v2 --branch", /branch\.oid/],
  ["echo needle > haystack && rg -l needle", /^haystack$/m],
  ["echo '{\"a\": [1, 2]}' | jq -c .a", /^\[1,2\]$/m],
  ["zip -q h.zip haystack && unzip -p h.zip", /^needle$/m],
  ["less haystack | cat", /^needle$/m],
  ["ps aux", /^USER/m],
  // As in every built template, so that a build on this one has nothing to change.
  ["stat -c %a /code; find /usr/local ! -type l ! -perm 777", /^777\n$/],
  ["python3 -m venv v && v/bin/python -c 'print(6 * 7)'", /^42$/m],
];

test("the base template has what coding agents expect", async () => {
  await using sandbox = await Sandbox.create("base", { apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  for (const [command, output] of COMMANDS) {
    const { stdout } = await sandbox.commands.run(command);
    expect([command, stdout]).toEqual([command, expect.stringMatching(output)]);
  }
}, 60_000);

test("a native module of Node is built without fetching anything but itself", async () => {
  await using sandbox = await Sandbox.create("base", { apiUrl: platform().apiUrl, apiKey: platform().apiKey, allowInternetAccess: false });
  const files = {
    "binding.gyp": '{ "targets": [{ "target_name": "own", "sources": ["own.c"] }] }',
    "own.c": "#include <node_api.h>\nNAPI_MODULE_INIT() { napi_value value; napi_create_int32(env, 42, &value); return value; }\n",
    "package.json": '{ "name": "own", "version": "1.0.0", "gypfile": true }',
  };
  for (const [name, text] of Object.entries(files)) await sandbox.files.write(`own/${name}`, text);
  await sandbox.commands.run("cd own && npm install --offline", { timeoutMs: 80_000 });
  const { stdout } = await sandbox.commands.run("cd own && node -p 'require(\"./build/Release/own.node\")'");
  expect(stdout).toBe("42\n");
}, 100_000);

/** What a login shell gives to its commands. In `script` it has a terminal. */
const STATE = 'env | sort; umask; echo "$PS1"; alias; mesg 2>/dev/null';
const LOGIN_SHELLS = [`bash -l -c '${STATE}'`, `bash -l -i -c '${STATE}'`, `sh -l -c '${STATE}'`].flatMap((shell) => [
  `env -i HOME="$HOME" ${shell} 2>/dev/null; true`,
  `env -i HOME="$HOME" TERM=xterm script -q -c "${shell.replaceAll(/["$]/g, "\\$&")}" /dev/null`,
]);

test("login shells start no process, and give what Debian's give", async () => {
  await using sandbox = await Sandbox.create("base", { apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  const look = async (user: string) => {
    const states: string[] = [];
    for (const shell of LOGIN_SHELLS) states.push((await sandbox.commands.run(shell, { user })).stdout);
    const [, ofChildren = ""] = (await sandbox.commands.run("times", { user })).stdout.split("\n");
    return { states, startsProcesses: ofChildren !== "0m0.000s 0m0.000s" };
  };
  const ours = [await look("user"), await look("root")];
  await sandbox.commands.run("cd /usr/share/base-files && cp profile /etc/profile && cp dot.profile /root/.profile", { user: "root" });
  const debians = [await look("user"), await look("root")];
  expect(ours.map(({ startsProcesses }) => startsProcesses)).toEqual([false, false]);
  expect(debians.map(({ startsProcesses }) => startsProcesses)).toEqual([true, true]);
  expect(ours.map(({ states }) => states)).toEqual(debians.map(({ states }) => states));
  const [bash = ""] = ours[0]?.states ?? [];
  expect(bash).toContain("PATH=/home/user/.local/bin:/usr/local/bin:/usr/bin:/bin:/usr/local/games:/usr/games\n");
  expect(ours[1]?.states[1]).toContain("is n");
}, 60_000);
