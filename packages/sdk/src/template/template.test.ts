import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { NotFoundError } from "../errors.ts";
import { FakeTemplates } from "../testing/fake-templates.ts";
import { type BuildLogEntry, Template, type UploadState, waitForPort } from "./index.ts";

const fake = new FakeTemplates();
const context = mkdtempSync(join(tmpdir(), "boxyard-template-"));
let options = { apiUrl: "", apiKey: "key" };

beforeAll(() => {
  writeFileSync(join(context, "a.txt"), "content\n");
  options = { apiUrl: fake.start(), apiKey: "key" };
});
afterEach(() => fake.reset());
afterAll(async () => {
  rmSync(context, { recursive: true });
  await fake.stop();
});

const whole = () =>
  Template.fromBaseImage({ context })
    .env({ A: "1", B: "two" })
    .workdir("/srv")
    .copy("a.txt", "/srv/", { user: "user", mode: 0o640 })
    .run(["echo 1", "echo 2"], { user: "root" })
    .user("user")
    .skipCache()
    .aptInstall(["curl", "jq"])
    .npmInstall("cowsay", { global: true })
    .pipInstall(["requests>=2"])
    .setStartCmd("python3 -m http.server 8000", waitForPort(8000));

test("a build asks, uploads, starts and follows, in the order and shape of the contract", async () => {
  const logs: BuildLogEntry[] = [];
  const uploads: UploadState[] = [];
  const opts = { ...options, tags: ["v1"], cpuCount: 4, onLog: (entry: BuildLogEntry) => void logs.push(entry) };
  const build = await whole().build("app", { ...opts, onUpload: (state) => void uploads.push(state) });
  expect(build).toEqual({ templateId: "t1", buildId: "b1", names: ["app"], tags: ["v1"] });
  expect(fake.seen.map(({ method, path }) => `${method} ${path}`).slice(0, 4)).toEqual([
    "POST /v3/templates",
    `GET /templates/t1/files/${fake.hash}`,
    "PUT /upload",
    "POST /v2/templates/t1/builds/b1",
  ]);
  expect(fake.seen[0]?.body).toEqual({ name: "app", tags: ["v1"], cpuCount: 4 });
  expect(fake.started).toEqual({
    fromTemplate: "base",
    force: false,
    steps: [
      { type: "ENV", args: ["A", "1", "B", "two"], force: false },
      { type: "WORKDIR", args: ["/srv"], force: false },
      { type: "COPY", args: ["a.txt", "/srv/", "user", "0640"], force: false, filesHash: fake.hash },
      { type: "RUN", args: ["echo 1 && echo 2", "root"], force: false },
      { type: "USER", args: ["user"], force: false },
      {
        type: "RUN",
        args: [
          "DEBIAN_FRONTEND=noninteractive apt-get update && DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends curl jq && rm -rf /var/lib/apt/lists/*",
          "root",
        ],
        force: true,
      },
      { type: "RUN", args: ["npm install --no-audit --no-fund --global cowsay", "root"], force: true },
      { type: "RUN", args: ["pip install --no-cache-dir --break-system-packages 'requests>=2'", "root"], force: true },
    ],
    startCmd: "python3 -m http.server 8000",
    readyCmd: "ss -Htuln | grep -q ':8000 '",
  });
  expect(logs.map(({ message, step }) => [message, step])).toEqual([
    ["line 0", "1"],
    ["line 1", "1"],
    ["line 2", "1"],
  ]);
  expect(uploads.map(({ step, state }) => [step, state])).toEqual([
    [3, "packing"],
    [3, "uploading"],
    [3, "uploaded"],
  ]);
  const [put] = fake.uploads;
  expect(put?.headers.get("x-extra")).toBe("yes");
  expect([put?.headers.get("x-api-key"), put?.headers.get("transfer-encoding")]).toEqual([null, null]);
  expect(Number(put?.headers.get("content-length"))).toBe(put?.bytes.length as number);
  const listed = Bun.spawnSync(["tar", "-tz"], { stdin: put?.bytes as Uint8Array });
  expect(listed.stdout.toString()).toBe("a.txt\n");
});

test("files that the server has are not sent again, unless nothing is to come from the cache", async () => {
  fake.present = true;
  const states: string[] = [];
  const template = Template.fromImage("debian:12", { context }).copy("a.txt", "/");
  await template.build("app", { ...options, onUpload: ({ state }) => void states.push(state) });
  expect([states, fake.uploads.length]).toEqual([["cached"], 0]);
  await template.build("app", { ...options, skipCache: true });
  expect(fake.uploads.length).toBe(1);
  expect(fake.started).toMatchObject({ fromImage: "debian:12", force: true, steps: [{ force: true }] });
});

test("a failed build says which step, after its whole log", async () => {
  fake.end = { status: "error", reason: { message: "exit status 1", step: "2" } };
  const logs: string[] = [];
  const error = await Template.fromBaseImage()
    .run("false")
    .build("app", { ...options, onLog: ({ message }) => void logs.push(message) })
    .catch((cause) => cause);
  expect([error.name, error.message, error.step, error.reason, logs.length]).toEqual([
    "BuildError",
    "exit status 1",
    "2",
    "build_failed",
    3,
  ]);
});

test("a failure leads to the line that asked for what failed", async () => {
  const lineOf = (text: string) =>
    readFileSync(import.meta.path, "utf8")
      .split("\n")
      .findIndex((line) => line.includes(text)) + 1;
  const stage = Template.fromBaseImage().run("in the stage");
  // biome-ignore format: one call on each line.
  const template = Template.fromImage("debian:12")
    .run("one")
    .aptInstall("through another method")
    .copyFrom(stage, "/a", "/b")
    .setStartCmd("start");
  const atOf = async (step: string) => {
    fake.end = { status: "error", reason: { message: "m", step } };
    const error = await template.build("app", options).catch((cause) => cause);
    return [error.at?.file, error.at?.line];
  };
  expect(await atOf("2")).toEqual([import.meta.path, lineOf('.aptInstall("through')]);
  const [sent] = (fake.started as { stages: { name: string }[] }).stages;
  expect(fake.started).toMatchObject({ steps: [{}, {}, { type: "COPY", args: ["/a", "/b", "", ""], fromStage: sent?.name }] });
  expect(await atOf("base")).toEqual([import.meta.path, lineOf('const template = Template.fromImage("debian:12")')]);
  expect(await atOf("finalize")).toEqual([import.meta.path, lineOf('.setStartCmd("start")')]);
  expect(await atOf(`${sent?.name}:1`)).toEqual([import.meta.path, lineOf('.run("in the stage")')]);
  expect(await atOf("99")).toEqual([undefined, undefined]);
});

test("an abort cancels the build", async () => {
  fake.end = { status: "building" };
  const controller = new AbortController();
  const build = Template.fromBaseImage()
    .build("app", { ...options, signal: controller.signal })
    .catch((cause) => cause);
  await eventually(
    "the build has begun",
    () => fake.started !== undefined && fake.seen.some(({ path }) => path.includes("/builds/b1/status")),
  );
  controller.abort();
  const error = await build;
  expect([error.name, fake.seen.at(-1)?.path]).toEqual(["AbortError", "/templates/t1/builds/b1/cancel"]);
});

test("background: starts, and gives the status when asked", async () => {
  fake.end = { status: "building" };
  const build = await Template.fromTemplate("base").buildInBackground("app:dev", options);
  const first = await Template.getBuildStatus(build, options);
  expect([first.status, first.logs.length]).toEqual(["building", 2]);
  expect((await Template.getBuildStatus(build, { ...options, logsOffset: 3 })).logs).toEqual([]);
  await Template.cancelBuild(build, options);
});

test("templates: exists, list, look at, tag, delete", async () => {
  expect([await Template.exists("app", options), await Template.exists("taken", options), await Template.exists("no", options)]).toEqual([
    true,
    true,
    false,
  ]);
  const names: string[] = [];
  for await (const { names: own } of Template.list(options)) names.push(...own);
  expect(names).toEqual(["app", "other"]);
  expect(await Template.getInfo("app", options)).toMatchObject({
    templateId: "t1",
    buildStatus: "ready",
    filesMissing: false,
    lastUsedAt: undefined,
  });
  fake.lost = true;
  expect(await Template.getInfo("app", options)).toMatchObject({ buildStatus: "error", filesMissing: true });
  const nothing = { retention: {}, maxResources: {}, idleTimeoutMs: undefined };
  expect(await Template.getInfo("app", options)).toMatchObject(nothing);
  const settings = { retention: { paused: { maxCount: 2 } }, maxResources: { memoryMB: 2048 } };
  await Template.change("app", { ...options, ...settings, idleTimeoutMs: 60_000 });
  expect(fake.seen.at(-1)).toEqual({ method: "PATCH", path: "/v2/templates/t1", body: { ...settings, idleTimeout: 60 } });
  expect(await Template.getInfo("app", options)).toMatchObject({ ...settings, idleTimeoutMs: 60_000 });
  await Template.change("app", { ...options, maxResources: {}, idleTimeoutMs: 0 });
  expect(fake.seen.at(-1)?.body).toEqual({ maxResources: {}, idleTimeout: 0 });
  expect(await Template.getInfo("app", options)).toMatchObject({ ...nothing, retention: settings.retention });
  expect((await Template.getTags("app", options)).map(({ tag }) => tag)).toEqual(["default"]);
  await Template.assignTags("app:v1", "stable", options);
  expect(fake.seen.at(-1)?.body).toEqual({ target: "app:v1", tags: ["stable"] });
  await Template.removeTags("app", ["stable"], options);
  expect(fake.seen.at(-1)).toMatchObject({ method: "DELETE", path: "/templates/tags", body: { name: "app", tags: ["stable"] } });
  expect([await Template.delete("app", options), await Template.delete("no", options)]).toEqual([true, false]);
  await expect(Template.getInfo("no", options)).rejects.toBeInstanceOf(NotFoundError);
});

test("builders are values: a step added to one is not in another", async () => {
  const base = Template.fromBaseImage();
  base.run("one");
  await base.run("two").buildInBackground("app", options);
  expect(fake.started).toMatchObject({ steps: [{ args: ["two"] }] });
});
