import { expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { CHECKOUT } from "@boxyard/testkit";
import { ensureCodeInterpreter } from "../support/code-interpreter.ts";
import { usePlatform } from "../support/platform.ts";

const TESTS = join(CHECKOUT, "images/code-interpreter/tests");
const platform = usePlatform();

/* First of the code interpreter's files: a machine that has not built the template yet takes a minute or two here, and none in the others. */
test("the template is built of its recipe, or comes out of the cache", async () => {
  await ensureCodeInterpreter(platform());
  const { status } = await platform().api({ path: "/templates/aliases/code-interpreter-v1" });
  expect(status).toBe(200);
}, 230_000);

test("the code service's unit tests pass inside", async () => {
  await using sandbox = await Sandbox.create("code-interpreter", { apiUrl: platform().apiUrl, apiKey: platform().apiKey });
  for (const file of readdirSync(TESTS).filter((name) => name.endsWith(".py")))
    await sandbox.files.write(`/home/user/tests/${file}`, readFileSync(join(TESTS, file), "utf8"));
  const command = "cd tests && python3 -W ignore -m unittest 2>&1 1>/dev/null | tail -n 40 >&2";
  const { stderr } = await sandbox.commands.run(command, { timeoutMs: 80_000 });
  expect(stderr).toMatch(/^Ran \d\d tests in .*\n\nOK\n$/m);
}, 100_000);
