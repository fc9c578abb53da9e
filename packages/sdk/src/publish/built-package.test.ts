import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildPackage } from "./build.ts";

const PACKAGE = resolve(import.meta.dir, "../..");
const SIZE_LIMIT_BYTES = 70_000;
/** For two runs of the compiler, or one, on a machine that does other things too. */
const LIMIT_MS = 120_000;
setDefaultTimeout(LIMIT_MS);

// Inside the package, so that its dependencies are found as from a real place of installation.
mkdirSync(join(PACKAGE, "dist"), { recursive: true });
const directory = mkdtempSync(join(PACKAGE, "dist/test-"));
const built = join(directory, "package");

beforeAll(() => buildPackage(built), LIMIT_MS);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

async function run(argv: string[], cwd = directory): Promise<{ exitCode: number; output: string }> {
  const child = Bun.spawn(argv, { cwd, stdout: "pipe", stderr: "pipe" });
  const [stdout, stderr, exitCode] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  return { exitCode, output: stdout + stderr };
}

test("passes the whole suite on Node", async () => {
  const bundle = await Bun.build({
    entrypoints: [join(import.meta.dir, "../testing/node-run.ts")],
    target: "node",
    outdir: directory,
    naming: "run.mjs",
  });
  expect(bundle.success).toBe(true);
  const { exitCode, output } = await run(["node", "run.mjs", join(built, "index.js")]);
  expect(output).toContain("# pass ");
  expect({ exitCode, failed: /^# fail (\d+)/m.exec(output)?.[1], output: exitCode === 0 ? "" : output.slice(-4000) }).toEqual({
    exitCode: 0,
    failed: "0",
    output: "",
  });
}, 240_000);

test("is at most 70 kB gzipped with its dependencies, and needs no Node", async () => {
  const bundle = await Bun.build({ entrypoints: [join(built, "index.js")], target: "browser", minify: true });
  const text = await (bundle.outputs[0] as Blob).text();
  const size = gzipSync(text).length;
  console.info(`sdk: ${size} bytes gzipped, limit ${SIZE_LIMIT_BYTES}`);
  expect(size).toBeLessThanOrEqual(SIZE_LIMIT_BYTES);
  expect(text).not.toMatch(/["']node:/);
});

test("its types name no package that users do not have", () => {
  const types = new Bun.Glob("**/*.d.ts").scanSync({ cwd: built });
  const named = [...types].filter((path) => readFileSync(join(built, path), "utf8").includes("@boxyard/"));
  expect(named).toEqual([]);
});

test("templates come from an entry of their own, which Node can load", async () => {
  writeFileSync(
    join(directory, "template.mjs"),
    `import { Template, waitForPort } from "./package/template/index.js";
const template = Template.fromDockerfile("FROM debian:12\\nRUN true").setReadyCmd(waitForPort(1));
try { await template.build("x", { apiUrl: "http://127.0.0.1:1", apiKey: "k" }); } catch (error) { console.log(error.name, error.reason); }
`,
  );
  expect(await run(["node", "template.mjs"])).toEqual({ exitCode: 0, output: "ConnectionError network_failed\n" });
});

test("its types stand alone, also without skipLibCheck", async () => {
  writeFileSync(
    join(directory, "user.ts"),
    `import { type CommandHandle, type CommandResult, Commands, Sandbox } from "./package/index.js";
import { type NewBuild, Template } from "./package/template/index.js";
const built: NewBuild = await Template.fromBaseImage().copy(["a", "b"], "/").run("true").build("x");
await using sandbox = await Sandbox.create();
const result: CommandResult = await sandbox.commands.run("true");
const waited: CommandResult = await sandbox.commands.run("true", { background: false, timeoutMs: 1 });
const handle: CommandHandle = await sandbox.commands.run("true", { background: true });
// @ts-expect-error a foreground run gives no handle
const wrong: CommandHandle = await sandbox.commands.run("true");
// @ts-expect-error a background run gives no result
const alsoWrong: CommandResult = await sandbox.commands.run("true", { background: true });
const either: CommandHandle | CommandResult = await sandbox.commands.run("true", { background: Math.random() > 0.5 });
const text: string = await sandbox.files.read("a");
const bytes: Uint8Array = await sandbox.files.read("a", { format: "bytes" });
// @ts-expect-error the metadata needs a version
new Commands({} as never, {}, {});
export { alsoWrong, built, bytes, either, handle, result, text, waited, wrong };
`,
  );
  const config = {
    module: "NodeNext",
    target: "ES2022",
    strict: true,
    noEmit: true,
    types: [],
    lib: ["ESNext", "DOM", "DOM.AsyncIterable"],
  };
  writeFileSync(join(directory, "tsconfig.json"), JSON.stringify({ compilerOptions: config, files: ["user.ts"] }));
  const { exitCode, output } = await run([resolve(PACKAGE, "../../node_modules/.bin/tsc"), "-p", "."]);
  expect({ exitCode, output }).toEqual({ exitCode: 0, output: "" });
});

test("the manifest names what it needs, and nothing private", () => {
  const manifest = JSON.parse(readFileSync(join(built, "package.json"), "utf8"));
  expect(Object.keys(manifest.dependencies).sort()).toEqual(["@bufbuild/protobuf", "@connectrpc/connect", "@connectrpc/connect-web"]);
});
