import { afterAll, beforeAll, expect, test } from "bun:test";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { Template } from "@boxyard/sdk/template";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { OLD_GLIBC, oldGlibcTar } from "../support/old-glibc.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

const LOGIN = { username: "tester", password: "secret" };
const platform = usePlatform();
let registry: TestRegistry;

beforeAll(async () => {
  registry = await startRegistry({ login: LOGIN });
  await pushTinyImage("tiny", { Env: ["PATH=/bin", "FROM_IMAGE=yes"], WorkingDir: "/elsewhere" }, { host: registry.host, login: LOGIN });
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
});

test("the published client builds on an image of a registry that asks for a login", async () => {
  const program = join(CHECKOUT, "e2e/clients/js/run.mjs");
  const env = { ...platform().env, IMAGE: `${registry.host}/tiny`, IMAGE_USER: LOGIN.username, IMAGE_PASSWORD: LOGIN.password };
  const ended = await runProgram(["node", program, "e2b", "from-image", "registry"], { env, limitMs: 100_000 });
  expect(ended.stdout + ended.stderr).toBe("");
  expect(ended.exitCode).toBe(0);
}, 120_000);

test("a template on an image with an old glibc: its steps and its sandboxes run on that one", async () => {
  const unpack = async (tree: string) => {
    const tar = await oldGlibcTar();
    const { exitCode, stderr } = await runProgram(["tar", "--extract", `--file=${tar}`, `--directory=${tree}`]);
    if (exitCode !== 0) throw new Error(stderr);
  };
  const target = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  await pushTinyImage("old", { Env: ["PATH=/bin"] }, { host: registry.host, login: LOGIN, addFiles: unpack });
  const name = `old-glibc-${crypto.randomUUID().slice(0, 8)}`;
  await Template.fromImage(`${registry.host}/old`, { registry: { type: "registry", ...LOGIN } })
    .run("/lib/*/libc.so.6 > /built-on", { user: "root" })
    .build(name, target);
  try {
    const sandbox = await Sandbox.create(name, { ...target, timeoutMs: 60_000 });
    try {
      const { stdout } = await sandbox.commands.run("head -n 1 /built-on; cat /proc/self/maps; id -un");
      expect(stdout).toContain(`stable release version ${OLD_GLIBC}.`);
      expect(stdout).toContain(`libc-${OLD_GLIBC}.so`);
      expect(stdout).toEndWith("\nuser\n");
      await sandbox.files.write("there", "and back");
      expect(await sandbox.files.read("there")).toBe("and back");
    } finally {
      await sandbox.kill();
    }
  } finally {
    await Template.delete(name, target);
  }
}, 120_000);
