import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, rmSync } from "node:fs";
import { mkdtemp, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Sandbox } from "@boxyard/sdk";
import { type BuildError, Template } from "@boxyard/sdk/template";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { startRegistry, type TestRegistry } from "../../packages/server/src/registry/testing/registry-process.ts";
import { holders } from "../support/holders.ts";
import { usePlatform } from "../support/platform.ts";
import { pushTinyImage } from "../support/tiny-image.ts";

const platform = usePlatform();
const options = () => ({ apiUrl: platform().apiUrl, apiKey: platform().apiKey });
const unique = () => crypto.randomUUID().replaceAll("-", "");
/** Planted, and looked for everywhere afterwards. */
const PLANTED = { password: `pw${unique()}`, file: `file${unique()}`, variable: `var${unique()}`, argument: `arg${unique()}` };
const NAME = `secrets-${unique().slice(0, 8)}`;
let registry: TestRegistry;
let directory = "";

beforeAll(async () => {
  directory = await mkdtemp(join(tmpdir(), "boxyard-secrets-"));
  await writeFile(join(directory, "begun"), "");
  const login = { username: "tester", password: PLANTED.password };
  registry = await startRegistry({ login });
  await pushTinyImage("tiny", {}, { host: registry.host, login });
});
afterAll(async () => {
  await registry?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

const since = (path: string, texts: readonly string[]) => holders(path, texts, join(directory, "begun"));

const DOCKERFILE = `FROM boxyard/base
ARG ARGUMENT
RUN --mount=type=secret,id=file,required --mount=type=secret,id=variable,env=IN_VARIABLE \\
    test -n "$IN_VARIABLE" && sha256sum < /run/secrets/file > /sum && stat -Lc '%a %U' /run/secrets/file > /facts && \\
    echo "seen: $IN_VARIABLE" && cat /run/secrets/file && printf %s "$ARGUMENT" | sha256sum >> /sum
USER user
RUN --mount=type=secret,id=file,target=/home/user/deep/er/secret,mode=0440 wc -c < ~/deep/er/secret > ~/count && ls ~/deep
RUN --mount=type=secret,id=absent,env=ABSENT echo "[$ABSENT]" >> ~/count; ls -d /run/secrets /home/user/deep >> ~/count 2>&1 || true
`;
const sha = (text: string) => `${new Bun.CryptoHasher("sha256").update(text).digest("hex")}  -\n`;

test("secrets of a build are there for the steps that ask for them, and afterwards nowhere", async () => {
  const log: string[] = [];
  const secrets = { file: `${PLANTED.file}\n`, variable: PLANTED.variable };
  const template = Template.fromDockerfile(DOCKERFILE, { context: directory, args: { ARGUMENT: PLANTED.argument } });
  await template.build(NAME, { ...options(), secrets, onLog: ({ message }) => void log.push(message) });
  {
    await using sandbox = await Sandbox.create(NAME, options());
    const { stdout } = await sandbox.commands.run("cat /sum /facts; env | grep -c -e IN_VARIABLE -e ARGUMENT || true", { user: "root" });
    const gone =
      "ls: cannot access '/run/secrets': No such file or directory\nls: cannot access '/home/user/deep': No such file or directory\n";
    expect(stdout).toBe(`${sha(`${PLANTED.file}\n`)}${sha(PLANTED.argument)}400 root\n0\n`);
    expect((await sandbox.commands.run("cat ~/count")).stdout).toBe(`${PLANTED.file.length + 1}\n[]\n${gone}`);
  }
  expect(log.join("\n")).toContain("seen: ***");
  for (const secret of [PLANTED.file, PLANTED.variable]) expect(log.join("\n")).not.toContain(secret);

  // The ids of secrets are part of a step's cache key, their values are not.
  const again: string[] = [];
  await template.build(NAME, {
    ...options(),
    secrets: { file: "other", variable: "other" },
    onLog: ({ message }) => void again.push(message),
  });
  expect(again.filter((line) => line.includes("] RUN ")).map((line) => line.startsWith("CACHED "))).toEqual([true, true, true]);

  const failure: BuildError = await Template.fromBaseImage()
    .run("cat /run/secrets/none", { secrets: [{ id: "none", required: true }] })
    .build(NAME, { ...options(), secrets })
    .then(
      () => expect.unreachable(),
      (error) => error,
    );
  expect([failure.step, failure.message]).toEqual(["1", "the secret 'none' was not given to this build"]);
}, 60_000);

test("the command line takes them from files and variables; a registry's password is used and kept nowhere", async () => {
  await writeFile(
    join(directory, "Dockerfile"),
    `FROM boxyard/base\nRUN --mount=type=secret,id=file --mount=type=secret,id=V,env=V cat /run/secrets/file; echo $V ${NAME}\n`,
  );
  await writeFile(join(directory, "secret"), PLANTED.file);
  const build = (...secrets: string[]) => {
    const argv = [
      process.execPath,
      "packages/cli/src/main.ts",
      "template",
      "build",
      NAME,
      directory,
      ...secrets.flatMap((text) => ["--secret", text]),
    ];
    const env = { ...platform().env, BOXYARD_API_URL: platform().apiUrl, BOXYARD_API_KEY: platform().apiKey, V: PLANTED.variable };
    return runProgram(argv, { cwd: CHECKOUT, env });
  };
  const built = await build(`id=file,src=${join(directory, "secret")}`, "id=V");
  expect([built.exitCode, built.stderr.includes(PLANTED.file), built.stderr.includes(PLANTED.variable)]).toEqual([0, false, false]);
  expect(built.stderr).toContain(`\n  ****** ${NAME}\n`);
  expect((await build("id=file,src=/nowhere")).stderr).toContain("--secret file: there is no /nowhere");
  expect((await build("id=NOT_SET")).stderr).toContain("--secret NOT_SET: the variable NOT_SET is not set");

  const registryAccess = { type: "registry", username: "tester", password: PLANTED.password } as const;
  const failing = Template.fromImage(`${registry.host}/tiny`, { registry: registryAccess }).run("exit 1");
  await expect(failing.build(NAME, options())).rejects.toMatchObject({ step: "1" });
  await expect(Template.fromImage(`${registry.host}/absent`, { registry: registryAccess }).build(NAME, options())).rejects.toMatchObject({
    step: "base",
  });
}, 60_000);

test("nothing of the data directory holds a planted secret: no layer, log, cache, upload or store", async () => {
  const { dataDir } = platform();
  // The search finds what is there: the steps' texts are in the log of the build, their results in a layer.
  const stores = readdirSync(dataDir).filter((name) => name.startsWith("boxyard.db"));
  const logged = await Promise.all(stores.map((name) => since(join(dataDir, name), [NAME])));
  expect(logged.flat().length).toBeGreaterThan(0);
  expect(
    (await since(join(dataDir, "pool/layers"), [new Bun.CryptoHasher("sha256").update(`${PLANTED.file}\n`).digest("hex")])).length,
  ).toBeGreaterThan(0);
  expect(await since(dataDir, Object.values(PLANTED))).toEqual([]);
  expect(await Template.delete(NAME, options())).toBe(true);
}, 120_000);
