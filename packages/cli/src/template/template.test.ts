import { afterAll, afterEach, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { FakeTemplates } from "@boxyard/sdk/testing/templates";

const fake = new FakeTemplates();
const directory = mkdtempSync(join(tmpdir(), "boxyard-cli-template-"));
let url = "";

beforeAll(() => {
  url = fake.start();
  writeFileSync(join(directory, "Dockerfile"), "FROM boxyard/base\nARG V=1\nCOPY a.txt /srv/\nCMD sleep $V\n");
  writeFileSync(join(directory, "a.txt"), "a");
});
afterEach(() => fake.reset());
afterAll(async () => {
  await fake.stop();
  rmSync(directory, { recursive: true });
});

async function template(...args: string[]): Promise<{ exitCode: number; stdout: string; stderr: string }> {
  const child = Bun.spawn([process.execPath, resolve(import.meta.dir, "../main.ts"), "template", ...args], {
    env: { PATH: "/usr/bin:/bin", BOXYARD_DATA: directory, BOXYARD_API_URL: url, BOXYARD_API_KEY: "key" },
    cwd: directory,
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, stdout, stderr };
}

/** What a build was requested with; triggers of its image were asked for before. */
const requested = () => fake.seen.find(({ path }) => path === "/v3/templates")?.body;

test("build sends the Dockerfile's steps, shows the log, and prints the id alone", async () => {
  const built = await template(
    "build",
    "app:v1",
    "--build-arg",
    "V=2",
    "--tag",
    "x",
    "--memory",
    "512",
    "--ready-cmd",
    "true",
    "--no-ptrace",
    "--max-open-files",
    "4096",
    "--volume",
    "data:/data:ro",
  );
  expect([built.exitCode, built.stdout]).toEqual([0, "t1\n"]);
  expect(built.stderr).toContain("uploaded a.txt");
  expect(built.stderr).toContain("line 0\nline 1\nline 2\n");
  expect(requested()).toEqual({ name: "app:v1", tags: ["x"], memoryMB: 512 });
  expect(fake.started).toMatchObject({
    fromTemplate: "base",
    startCmd: "sleep $V",
    readyCmd: "true",
    restrictions: { noPtrace: true, maxOpenFiles: 4096 },
    volumeMounts: [{ name: "data", path: "/data", readOnly: true }],
  });
  expect((fake.started as { steps: unknown[] }).steps[2]).toEqual({
    type: "COPY",
    args: ["a.txt", "/srv/", "", ""],
    sources: [{ path: "a.txt", name: "a.txt" }],
    text: "COPY a.txt /srv/",
    filesHash: fake.hash,
    force: false,
  });
});

test("a failed build names the step, and the exit code says so", async () => {
  fake.end = { status: "error", reason: { message: "exit status 3", step: "3" } };
  const failed = await template("build", "app");
  expect([failed.exitCode, failed.stdout]).toEqual([1, ""]);
  expect(failed.stderr).toContain("error: step 3: exit status 3\n");
  expect(failed.stderr).toContain(
    "Dockerfile:3:\n     1 | FROM boxyard/base\n     2 | ARG V=1\n>    3 | COPY a.txt /srv/\n     4 | CMD sleep $V\n",
  );
});

test("what is missing is said before anything is sent", async () => {
  expect((await template("build", "app", "nowhere")).stderr).toContain("there is no boxyard.Dockerfile and no Dockerfile in nowhere");
  expect((await template("build", "app", "-f", "x")).exitCode).toBe(2);
  expect(fake.seen).toEqual([]);
});

test("list, info, tag, publish, delete", async () => {
  expect((await template("list")).stdout).toMatch(/^NAME +ID +STATUS.*\napp +t1 +ready/);
  expect(JSON.parse((await template("info", "app", "--json")).stdout)).toMatchObject({ templateId: "t1", tags: [{ tag: "default" }] });
  expect((await template("info", "app")).stdout).toContain("tags              default (b1)");
  expect((await template("tag", "app:v1", "stable", "new")).stderr).toBe("set stable, new\n");
  expect(fake.seen.at(-1)?.body).toEqual({ target: "app:v1", tags: ["stable", "new"] });
  expect((await template("tag", "app", "old", "--remove")).exitCode).toBe(0);
  expect((await template("publish", "app")).stdout).toBe("app\n");
  expect(fake.seen.at(-1)).toEqual({ method: "PATCH", path: "/v2/templates/t1", body: { public: true } });
  expect((await template("unpublish", "app")).exitCode).toBe(0);
  expect(fake.seen.at(-1)?.body).toEqual({ public: false });
  const deleted = await template("delete", "app", "no");
  expect(deleted).toEqual({ exitCode: 1, stdout: "app\n", stderr: "no template no\n" });
  expect((await template("info", "no")).stderr).toContain("boxyard template list");
});

test("limit changes what is named; retention replaces its rules; a word that is neither is refused before anything is sent", async () => {
  expect((await template("limit", "app", "cpuCount=1.5", "memoryMB=2048")).stdout).toMatch(
    /^cpuCount +1.5\nmemoryMB +2048\ndiskSizeMB +default\n$/,
  );
  expect(fake.seen.at(-1)).toEqual({
    method: "PATCH",
    path: "/v2/templates/t1",
    body: { maxResources: { cpuCount: 1.5, memoryMB: 2048 } },
  });
  expect(JSON.parse((await template("limit", "app", "cpuCount=default", "--json")).stdout)).toEqual({ memoryMB: 2048 });
  expect((await template("limit", "app")).stdout).toMatch(/^cpuCount +default\nmemoryMB +2048\n/);
  expect((await template("info", "app")).stdout).toMatch(/^limits +memoryMB=2048$/m);

  const rules = { builds: { maxCount: 5 }, paused: { maxAgeHours: 48, maxMB: 9 }, warnHours: 2 };
  const given = ["builds.maxCount=5", "paused.maxAgeHours=48", "paused.maxMB=9", "warnHours=2"];
  expect(JSON.parse((await template("retention", "app", ...given)).stdout)).toEqual(rules);
  expect(JSON.parse((await template("retention", "app")).stdout)).toEqual(rules);
  expect(JSON.parse((await template("retention", "app", "--off")).stdout)).toEqual({});
  for (const words of [
    ["limit", "app", "memory=5"],
    ["limit", "app", "memoryMB"],
    ["retention", "app", "paused.max=5"],
    ["retention", "app", "boxes.maxCount=1"],
  ]) {
    expect(await template(...words)).toMatchObject({ exitCode: 1, stderr: expect.stringMatching(/is no (limit|rule): give/) });
  }
  expect(fake.seen.filter(({ method }) => method === "PATCH")).toHaveLength(4);
}, 30_000);

test("templates whose files are lost are listed as missing, with what to do", async () => {
  fake.lost = true;
  const [listed, one] = [await template("list"), await template("info", "app")];
  expect(listed.stdout).toMatch(/\napp +t1 +missing/);
  expect(one.stdout).toMatch(/\nstatus +missing\n/);
  for (const { stderr } of [listed, one]) expect(stderr).toContain("boxyard template rebuild");
});

test("rebuild builds from the recipe that comes with Boxyard, and lets everybody start from it", async () => {
  const rebuilt = await template("rebuild", "code-interpreter");
  expect([rebuilt.exitCode, rebuilt.stdout]).toEqual([0, "t1\n"]);
  const { startCmd, readyCmd, fromTemplate } = fake.started as Record<string, string>;
  expect({ startCmd, readyCmd, fromTemplate }).toEqual({
    startCmd: "python3 -m boxyard_code.supervisor python3 -m boxyard_code",
    readyCmd: expect.stringContaining("localhost:49999/health"),
    fromTemplate: "base",
  });
  expect(fake.uploads.length).toBe(3);
  expect(requested()).toMatchObject({ name: "code-interpreter", cpuCount: 2, memoryMB: 1024 });
  expect(fake.seen.at(-1)).toEqual({ method: "PATCH", path: "/v2/templates/t1", body: { public: true } });
});

test("a rebuild that fails changes nothing; neither does one of what is not ours, nor of base on another machine", async () => {
  fake.end = { status: "error", reason: { message: "exit status 3", step: "2" } };
  expect((await template("rebuild", "code-interpreter")).exitCode).toBe(1);
  expect(fake.seen.some(({ method }) => method === "PATCH")).toBe(false);
  fake.reset();
  expect(await template("rebuild", "app")).toMatchObject({
    exitCode: 2,
    stderr: expect.stringContaining("base, code-interpreter, mcp-gateway do"),
  });
  expect((await template("rebuild", "base")).stderr).toContain("run this there, without BOXYARD_API_URL");
  expect(fake.seen).toEqual([]);
});
