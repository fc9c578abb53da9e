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
