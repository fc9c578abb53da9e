import { afterAll, beforeAll, expect, test } from "bun:test";
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";
import { runInChromium } from "../support/chromium.ts";
import { usePlatform } from "../support/platform.ts";

const platform = usePlatform();
/** A user's project: empty, and far from the checkout. */
const project = mkdtempSync(join(tmpdir(), "boxyard-project-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const TSC = join(CHECKOUT, "node_modules/.bin/tsc");
const PROGRAM = `
import { CommandExitError, Sandbox } from "@boxyard/sdk";
import { Template, waitForPort } from "@boxyard/sdk/template";

await using sandbox = await Sandbox.create({ metadata: { from: "a project" } });
await sandbox.files.write("notes.txt", "written from outside\\n");
const { stdout }: { stdout: string } = await sandbox.commands.run("cat notes.txt");
console.log(stdout.trim(), Template.fromBaseImage().setReadyCmd(waitForPort(80)) instanceof Template);
await sandbox.commands.run("exit 3").catch((error: unknown) => {
  if (!(error instanceof CommandExitError)) throw error;
  console.log("exit code", error.exitCode);
});
`;
const OVER_TCP = `
import { Sandbox } from "@boxyard/sdk";
import { connectTcp } from "@boxyard/sdk/tcp";

const sandbox = await Sandbox.create();
await sandbox.commands.run("exec python3 -m http.server 8000", { background: true, timeoutMs: 0 });
let socket;
while (!socket) socket = await connectTcp(sandbox, 8000).catch((error) => {
  if (error.reason !== "port_not_open") throw error;
});
let answer = "";
socket.setEncoding("latin1").on("data", (text) => { answer += text; });
socket.end("HEAD / HTTP/1.0\\r\\n\\r\\n");
await new Promise((resolve) => socket.once("end", resolve));
console.log(answer.split("\\r\\n", 1)[0]);
await sandbox.kill();
`;
const IN_PAGE = `
import { Sandbox } from "@boxyard/sdk";
const { options } = await (await fetch("/options")).json();
const run = async () => {
  const sandbox = await Sandbox.create(options);
  try {
    return (await sandbox.commands.run("echo from a page")).stdout;
  } finally {
    await sandbox.kill();
  }
};
const result = await run().catch((error) => String(error));
await fetch("/results", { method: "POST", body: JSON.stringify(result) });
`;

const url = () => `${platform().apiUrl}/sdk/npm.tgz`;

/** The tools of a user, without this checkout's own variables. */
async function must(argv: readonly string[], limitMs = 120_000): Promise<string> {
  const { exitCode, stdout, stderr } = await runProgram(argv, { cwd: project, env: platform().env, limitMs });
  expect({ argv, exitCode, output: exitCode === 0 ? "" : stdout + stderr }).toEqual({ argv, exitCode: 0, output: "" });
  return stdout;
}

function compilerSettings(more: Readonly<Record<string, unknown>>): void {
  const compilerOptions = { strict: true, target: "ES2022", module: "NodeNext", outDir: "out", ...more };
  writeFileSync(join(project, "tsconfig.json"), JSON.stringify({ compilerOptions, files: ["program.ts"] }));
}

beforeAll(async () => {
  writeFileSync(join(project, "package.json"), JSON.stringify({ name: "mine", private: true, type: "module" }));
  await must(["npm", "install", "--no-audit", "--no-fund", url()]);
  writeFileSync(join(project, "program.ts"), PROGRAM);
}, 180_000);

test("the server serves the package without a key, the same bytes each time, and says when a client has it", async () => {
  const first = await fetch(url());
  expect([first.status, first.headers.get("content-type")]).toEqual([200, "application/gzip"]);
  const bytes = await first.bytes();
  expect(Number(first.headers.get("content-length"))).toBe(bytes.length);
  expect(await (await fetch(url())).bytes()).toEqual(bytes);
  const again = await fetch(url(), { headers: { "If-None-Match": first.headers.get("etag") ?? "" } });
  expect([again.status, await again.text()]).toEqual([304, ""]);
  const head = await fetch(url(), { method: "HEAD" });
  expect([head.status, await head.text()]).toEqual([200, ""]);
  expect((await fetch(url(), { method: "POST" })).status).toBe(405);
});

test("it holds compiled modules with types and source maps, and nothing of the machine that made it", () => {
  const directory = join(project, "node_modules/@boxyard/sdk");
  const files = readdirSync(directory, { recursive: true, encoding: "utf8" }).filter((name) => /\.\w+$/.test(name));
  expect(files.filter((name) => !/\.(js|d\.ts|js\.map|md|json)$/.test(name))).toEqual([]);
  const modules = files.filter((name) => name.endsWith(".js"));
  expect(modules.length).toBeGreaterThan(40);
  for (const name of modules) expect([name, existsSync(join(directory, `${name}.map`))]).toEqual([name, true]);
  for (const name of files) {
    const text = readFileSync(join(directory, name), "utf8");
    expect([name, text.includes(CHECKOUT)]).toEqual([name, false]);
    if (!name.endsWith(".map")) expect([name, text.includes("@boxyard/spec")]).toEqual([name, false]);
  }
  expect(readdirSync(join(project, "node_modules/@boxyard"))).toEqual(["sdk"]);
  expect(readFileSync(join(directory, "README.md"), "utf8")).toContain("npm install http://127.0.0.1:3000/sdk/npm.tgz");
});

test("tsc --strict takes it as it comes: with a browser's types, and with Node's alone", async () => {
  compilerSettings({ types: [] });
  await must([TSC, "-p", "."]);
  for (const name of ["@types/node", "undici-types"]) {
    cpSync(join(CHECKOUT, "node_modules", name), join(project, "node_modules", name), { recursive: true });
  }
  // Declarations of Connect, which the package depends on, name a type of browsers.
  compilerSettings({ types: ["node"], lib: ["ES2022"], skipLibCheck: true });
  await must([TSC, "-p", "."]);
}, 120_000);

test("Node runs the compiled program", async () => {
  expect(await must(["node", "--enable-source-maps", "out/program.js"])).toBe("written from outside true\nexit code 3\n");
}, 60_000);

test("Node connects by TCP with the entry for it", async () => {
  writeFileSync(join(project, "tcp.mjs"), OVER_TCP);
  expect(await must(["node", "tcp.mjs"])).toBe("HTTP/1.0 200 OK\n");
}, 60_000);

test("a bundler makes a page of it, which runs in a browser", async () => {
  writeFileSync(join(project, "page.js"), IN_PAGE);
  const bundle = await Bun.build({ entrypoints: [join(project, "page.js")], target: "browser", minify: true });
  expect(bundle.success).toBe(true);
  const script = await (bundle.outputs[0] as Blob).text();
  const { apiUrl, apiKey } = platform();
  expect(await runInChromium<string>(script, { apiUrl, apiKey }, 60_000)).toBe("from a page\n");
}, 90_000);

test("boxyard dist writes the same package to a file", async () => {
  await must([join(CHECKOUT, "boxyard"), "dist", "--packages"]);
  const { version } = JSON.parse(readFileSync(join(CHECKOUT, "packages/sdk/package.json"), "utf8")) as { version: string };
  const made = readFileSync(join(CHECKOUT, `dist/boxyard-sdk-${version}.tgz`));
  expect(Buffer.compare(made, await (await fetch(url())).bytes())).toBe(0);
}, 120_000);
