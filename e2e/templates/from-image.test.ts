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

test("device nodes of an image are left out, and the log says so", async () => {
  const login = { username: LOGIN.username, password: LOGIN.password };
  await pushTinyImage(
    "nodes",
    {},
    {
      host: registry.host,
      login,
      addFiles: async (tree) => {
        const made = await runProgram(["sh", "-ec", 'mkdir "$1/dev"; mknod "$1/dev/console" c 5 1; mknod "$1/dev/sda" b 8 0', "sh", tree]);
        expect(made.exitCode).toBe(0);
      },
    },
  );
  const options = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const log: string[] = [];
  const template = Template.fromImage(`${registry.host}/nodes`, { registry: { type: "registry", ...login } });
  await template.build("nodes", { ...options, onLog: ({ message }) => void log.push(message) });
  expect(log.join("\n")).toMatch(
    /left out 2 device node\(s\) of a layer \("dev\/(sda|console)", "dev\/(sda|console)"\): sandboxes have their own/,
  );
  await using sandbox = await Sandbox.create("nodes", options);
  expect((await sandbox.commands.run("test -c /dev/null && ls /dev/sda || echo none")).stdout).toBe("none\n");
  await Template.delete("nodes", options).catch(() => {});
}, 120_000);

test("ONBUILD of a template is done in those that begin with it, before their own steps, and not in theirs", async () => {
  const options = { apiUrl: platform().apiUrl, apiKey: platform().apiKey };
  const build = (name: string, text: string) => Template.fromDockerfile(text).build(name, options);
  await build(
    "onbuild-parent",
    "FROM boxyard/base\nONBUILD ENV WHO=trigger\nONBUILD RUN echo trigger >> /order\nRUN echo parent >> /order",
  );
  await build("onbuild-child", "FROM boxyard/onbuild-parent\nRUN echo child of $WHO >> /order");
  await build("onbuild-grandchild", "FROM boxyard/onbuild-child\nRUN echo grandchild >> /order");
  await using sandbox = await Sandbox.create("onbuild-grandchild", options);
  expect(await sandbox.files.read("/order")).toBe("parent\ntrigger\nchild of trigger\ngrandchild\n");
  expect((await sandbox.commands.run("echo $WHO")).stdout).toBe("trigger\n");
}, 120_000);

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
