import { afterAll, beforeAll, expect, test } from "bun:test";
import { copyFileSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { forkServerKey, guestKey } from "@boxyard/driver-local/carried";
import { baseTarName } from "@boxyard/driver-local/setup";
import { FakeTemplates } from "@boxyard/sdk/testing/templates";
import {
  CHECKOUT,
  compareSnapshots,
  eventually,
  type ProgramOptions,
  readTestConfig,
  runProgram,
  type Snapshot,
  takeSnapshot,
} from "@boxyard/testkit";
import { block } from "../support/documents.ts";
import { type HiddenCheckout, hideCheckout } from "./hidden-checkout.ts";

const MARKER = "BOXYARD_TEST_RUN";
const config = readTestConfig();
/** Beside the test platform's own files: what is left behind counts as ours. */
const dataDir = join(config.dataDir, "executable");
const directory = mkdtempSync(join(tmpdir(), "boxyard executable-"));
const executable = join(directory, "boxyard");
const work = join(directory, "work");
const settings = {
  BOXYARD_DATA: dataDir,
  BOXYARD_CACHE: config.cacheDir,
  BOXYARD_LISTEN: "127.0.0.1:0",
  BOXYARD_WARM_SANDBOXES: config.env.BOXYARD_WARM_SANDBOXES ?? "",
  [MARKER]: config.env[MARKER] ?? "executable",
};
let machine: HiddenCheckout | undefined;
/** What `dist` said, and the build id in it. */
let built = "";
const buildIn = (line: string) => /build ([0-9a-f]{16})/.exec(line)?.[1];
let before: Snapshot;

/** The executable, in an empty directory of a machine without a checkout, Node and compilers. */
function boxyard(args: readonly string[], options: ProgramOptions = {}) {
  if (!machine) throw new Error("the executable was not made; see the failure of beforeAll");
  return machine.run([executable, ...args], { cwd: work, ...options, env: { ...settings, ...options.env } });
}

const dist = () => runProgram([join(CHECKOUT, "boxyard"), "dist"], { cwd: CHECKOUT, env: config.env, limitMs: 200_000 });

beforeAll(async () => {
  before = takeSnapshot({ marker: MARKER });
  const ended = await dist();
  if (ended.exitCode !== 0) throw new Error(`boxyard dist failed: ${ended.stderr}`);
  built = ended.stdout;
  mkdirSync(work);
  copyFileSync(join(CHECKOUT, "dist/boxyard"), executable);
  machine = await hideCheckout(directory);
}, 230_000);

afterAll(async () => {
  if (machine) await boxyard(["down", "--sandboxes"]);
  await machine?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
  rmSync(dataDir, { recursive: true, force: true });
}, 60_000);

test("dist makes it once: a second call sees whether anything has changed", async () => {
  expect(built).toMatch(/^dist\/boxyard: \d+ MB, linux-(x64|arm64), build [0-9a-f]{16}, /);
  const again = await dist();
  expect(again.stderr).toBe("");
  // The sources may have changed meanwhile, where somebody edits them.
  const [executableLine = "", packageLine = ""] = again.stdout.split("\n");
  expect(executableLine.endsWith(", nothing has changed")).toBe(buildIn(again.stdout) === buildIn(built));
  expect(packageLine).toMatch(/^dist\/boxyard-sdk-[\d.]+\.tgz: \d+ kB, for npm install, /);
});

test("the checkout, Node and compilers cannot be found", async () => {
  const script = `for name in node npm bun gcc musl-gcc; do command -v "$name"; done; ls -A ${CHECKOUT}`;
  const looked = await machine?.run(["sh", "-c", script], { cwd: work });
  expect(looked).toMatchObject({ stdout: "", stderr: "" });
});

test("it carries the recipes of templates, and leaves nothing of what it took out", async () => {
  const server = new FakeTemplates();
  const env = { BOXYARD_API_URL: server.start(), BOXYARD_API_KEY: "key", TMPDIR: work };
  try {
    const before = readdirSync(work);
    expect(await boxyard(["template", "rebuild", "code-interpreter"], { env })).toMatchObject({ exitCode: 0, stdout: "t1\n" });
    expect(server.uploads.length).toBe(3);
    expect(readdirSync(work)).toEqual(before);
  } finally {
    await server.stop();
  }
});

test("version and help need nothing and make nothing", async () => {
  expect(await boxyard(["--version"])).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/), stderr: "" });
  const help = await boxyard(["help", "run"]);
  expect(help).toMatchObject({ exitCode: 0, stderr: "" });
  expect(help.stdout).toContain("boxyard run");
  expect(readdirSync(config.dataDir)).not.toContain("executable");
});

test("run sets the machine up from what it carries, and prints 42", async () => {
  const command = block("docs/dist.md", "sh").replace("./boxyard", '"$BOXYARD"');
  if (!machine) throw new Error("the executable was not made; see the failure of beforeAll");
  const first = await machine.run(["sh", "-ec", command], { cwd: work, env: { ...settings, BOXYARD: executable }, limitMs: 180_000 });
  expect(first).toMatchObject({ exitCode: 0, stdout: "42\n" });
  expect(first.stderr).toContain("setup: guest bundle");
  expect(readdirSync(work)).toEqual([]);
}, 200_000);

test("a second run sets nothing up and answers within a second", async () => {
  // The quickest of several: a busy machine delays any of them.
  const isQuick = async () => {
    const again = await boxyard(["run", "--", "sh", "-c", "echo out; echo err >&2; exit 7"]);
    expect({ ...again, ms: 0 }).toEqual({ exitCode: 7, stdout: "out\n", stderr: "err\n", ms: 0 });
    return again.ms < 1_000;
  };
  await eventually("an answer within a second", isQuick, { withinMs: 45_000 });
}, 60_000);

test("set-up by the executable and by a checkout of the same sources have the same keys, so neither repeats the other's", () => {
  const { done } = JSON.parse(readFileSync(join(dataDir, "setup.json"), "utf8")) as { done: Record<string, string> };
  expect(done.guest).toBe(guestKey());
  expect(done["fork-server"]).toBe(forkServerKey());
  expect(`base-${done.base?.split(" ")[0]}.tar`).toBe(baseTarName());
});

test("its server serves the client package that it carries", async () => {
  const { BOXYARD_API_URL: url } = JSON.parse((await boxyard(["env", "--json"])).stdout) as { BOXYARD_API_URL: string };
  const made = readFileSync(join(CHECKOUT, /dist\/boxyard-sdk\S+\.tgz/.exec(built)?.[0] ?? ""));
  expect(Buffer.compare(await (await fetch(`${url}/sdk/npm.tgz`)).bytes(), made)).toBe(0);
});

test("files of the directory that it is started in don't change what it does", async () => {
  const plain = await boxyard(["env"]);
  writeFileSync(join(work, ".env"), "BOXYARD_API_URL=http://127.0.0.1:1\nBOXYARD_API_KEY=wrong\n");
  writeFileSync(join(work, "bunfig.toml"), 'preload = ["./preload.ts"]\n');
  writeFileSync(join(work, "preload.ts"), 'console.log("preloaded");\n');
  for (const name of ["package.json", "tsconfig.json"]) writeFileSync(join(work, name), "{");
  try {
    expect({ ...(await boxyard(["env"])), ms: 0 }).toEqual({ ...plain, ms: 0 });
    expect(plain).toMatchObject({ exitCode: 0, stdout: expect.stringContaining("E2B_API_URL=http://127.0.0.1:") });
  } finally {
    for (const name of readdirSync(work)) rmSync(join(work, name));
  }
});

test("doctor finds nothing that fails", async () => {
  const doctor = await boxyard(["doctor", "--json"]);
  const { checks } = JSON.parse(doctor.stdout) as { checks: { name: string; status: string }[] };
  expect(checks.filter((check) => check.status === "fail")).toEqual([]);
  expect(doctor.exitCode).toBe(0);
});

test("the server says which build it is, and up -d leaves one of this build alone", async () => {
  const server = JSON.parse(readFileSync(join(dataDir, "server.json"), "utf8")) as { build: string };
  expect(server.build).toBe(buildIn(built) as string);
  expect((await boxyard(["up", "-d"])).stdout).toContain("running already");
  writeFileSync(join(dataDir, "server.json"), JSON.stringify({ ...server, build: "another" }));
  const up = await boxyard(["up", "-d"]);
  expect(up).toMatchObject({ exitCode: 0, stderr: expect.stringContaining("of another version") });
});

test("after down --sandboxes nothing of it is left on the machine", async () => {
  const instance = (JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string }).instance;
  expect(await boxyard(["down", "--sandboxes"])).toMatchObject({ exitCode: 0, stderr: "" });
  await machine?.[Symbol.asyncDispose]();
  machine = undefined;
  const left = () =>
    compareSnapshots(before, takeSnapshot({ marker: MARKER })).filter(
      ({ kind, what }) => kind === "devices" || what.includes(dataDir) || what.includes(instance),
    );
  // The kernel takes loop devices and namespaces back a little later.
  await eventually("nothing is left", () => left().length === 0).catch(() => {});
  expect(left()).toEqual([]);
});
