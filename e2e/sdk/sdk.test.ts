import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import * as sdk from "@boxyard/sdk";
import { buildPackage } from "@boxyard/sdk/build";
import { CHECKOUT, eventually, runProgram } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { deno } from "../support/published.ts";
import { CASES } from "./cases/index.ts";

const platform = usePlatform();
// Inside the checkout, so that the built package finds its dependencies.
const directory = mkdtempSync(join(import.meta.dir, ".built-"));

beforeAll(() => buildPackage(join(directory, "package")), 60_000);
afterAll(() => rmSync(directory, { recursive: true, force: true }));

for (const [name, run] of CASES) {
  test(`on Bun: ${name}`, async () => {
    const { apiUrl, apiKey } = platform();
    await using sandbox = await sdk.Sandbox.create({ apiUrl, apiKey, envs: { FROM_SANDBOX: "yes" } });
    await run({ sdk, sandbox, options: { apiUrl, apiKey } });
  }, 60_000);
}

test("on Bun: metrics come by themselves, and a port has a host name and a token of its own", async () => {
  const { apiUrl, apiKey } = platform();
  await using sandbox = await sdk.Sandbox.create({ apiUrl, apiKey, network: { allowPublicTraffic: false } });
  await sandbox.commands.run("python3 -m http.server 8000", { background: true, timeoutMs: 0 });
  await sandbox.files.write("page.txt", "from inside");
  const headers = { "e2b-traffic-access-token": sandbox.trafficAccessToken ?? "" };
  const page = `${sandbox.getUrl(8000)}/page.txt`;
  const read = async () => (await fetch(page, { headers })).ok && (await fetch(page, { headers })).text();
  expect(await eventually("the port answers", read)).toBe("from inside");
  expect((await fetch(page)).status).toBe(403);
  // Through the server's own address, where names are not resolved.
  const answer = await sandbox.fetch(8000, "/page.txt?x=1", { headers: { "X-Mine": "1" } });
  expect([answer.status, await answer.text()]).toEqual([200, "from inside"]);
  expect((await sandbox.fetch(8001, "/")).status).toBe(502);
  const { url, headers: routing } = sandbox.portAccess(8000);
  expect(await (await fetch(`${url}/page.txt`, { headers: { ...routing } })).text()).toBe("from inside");
  const byPath = `${sandbox.portUrl(8000)}/page.txt?x=1`;
  expect(byPath).toBe(`${apiUrl}/ports/${sandbox.sandboxId}/8000/page.txt?x=1`);
  expect([(await fetch(byPath)).status, await (await fetch(byPath, { headers })).text()]).toEqual([403, "from inside"]);
  const [sample] = await eventually("a sample", async () => (await sandbox.getMetrics()).length > 0 && sandbox.getMetrics());
  expect(sample?.memTotal).toBe(1024 * 1024 * 1024);
  expect(sample?.memUsed).toBeGreaterThan(0);
  const start = new Date(Date.now() + 60_000);
  expect(await sdk.Sandbox.getMetrics(sandbox.sandboxId, { apiUrl, apiKey, start })).toEqual([]);
}, 60_000);

test("on Node: the built package passes all of it", async () => {
  const bundle = await Bun.build({
    entrypoints: [join(import.meta.dir, "on-node.ts")],
    target: "node",
    outdir: directory,
    naming: "run.mjs",
  });
  expect(bundle.success).toBe(true);
  const argv = ["node", "--test-reporter=tap", join(directory, "run.mjs"), join(directory, "package/index.js")];
  const { exitCode, stdout, stderr } = await runProgram(argv, { env: platform().env, limitMs: 180_000 });
  // The names of the cases, and the errors with their causes: `on-node.ts` writes these to standard error.
  const failed = stdout.split("\n").flatMap((line) => /^\s+not ok \d+ - (.*)$/.exec(line)?.[1] ?? []);
  expect({ failed, exitCode, errors: exitCode === 0 ? "" : stderr }).toEqual({ failed: [], exitCode: 0, errors: "" });
  expect(/^# pass (\d+)$/m.exec(stdout)?.[1]).toBe(`${CASES.length}`);
}, 200_000);

test("on Deno: the built package passes all of it, with no more rights than to the network and its own files", async () => {
  const bundle = await Bun.build({
    entrypoints: [join(import.meta.dir, "on-deno.ts")],
    target: "node",
    outdir: directory,
    naming: "deno.mjs",
  });
  expect(bundle.success).toBe(true);
  const rights = ["--no-prompt", "--allow-net=127.0.0.1", "--allow-env", `--allow-read=${CHECKOUT}`];
  const run = ["run", "--no-remote", "--no-lock", "--node-modules-dir=manual", ...rights, join(directory, "deno.mjs")];
  const argv = [await deno(), ...run, join(directory, "package/index.js")];
  const ended = await runProgram(argv, { env: { ...platform().env, DENO_DIR: join(directory, "deno") }, limitMs: 180_000 });
  expect(ended).toMatchObject({ stdout: `${CASES.length} passed\n`, exitCode: 0 });
}, 200_000);
