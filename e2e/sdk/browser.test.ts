import { expect, test } from "bun:test";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { runInChromium } from "../support/chromium.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";
import { CASES } from "./cases/index.ts";

const platform = usePlatform();

const LIMIT_MS = 240_000;

/** The bundler knows `node:assert` for browsers, and not its strict form. */
const STRICT: Bun.BunPlugin = {
  name: "strict assert",
  setup(build) {
    build.onResolve({ filter: /^node:assert\/strict$/ }, () => ({ path: "strict", namespace: "assert" }));
    build.onLoad({ filter: /./, namespace: "assert" }, () => ({
      contents: 'import assert from "node:assert"; export default assert.strict;',
      loader: "js",
    }));
  },
};

/** The bundler's `node:assert` reads these for the text of a failed assertion, which is lost without them. */
const NODE_GLOBALS = 'globalThis.process ??= { env: {}, stderr: {}, cwd: () => "/" };';

type Results = [name: string, problem: string][];

test(
  "in Chromium, from a page of another origin: all of it passes",
  async () => {
    const bundle = await Bun.build({
      entrypoints: [join(import.meta.dir, "in-browser.ts")],
      target: "browser",
      plugins: [STRICT],
      banner: NODE_GLOBALS,
    });
    expect(bundle.success).toBe(true);
    const script = await (bundle.outputs[0] as Blob).text();
    const { apiUrl, apiKey } = platform();
    const results = await runInChromium<Results>(script, { apiUrl, apiKey }, LIMIT_MS - 10_000);
    expect(results.filter(([, problem]) => problem !== "")).toEqual([]);
    expect(results.length).toBe(CASES.length);
  },
  LIMIT_MS,
);

/** Sets a cookie with its first page; its second one shows what the browser sent, and what a script there may do. */
const SNOOPING_SITE = `
require("http").createServer((req, res) => {
  const url = new URL(req.url, "http://inside");
  res.setHeader("content-type", "text/html");
  if (url.pathname === "/first") {
    res.setHeader("set-cookie", "session=secret; Path=/");
    return res.end("<script>location.replace('second' + location.search)</script>");
  }
  res.end("<script>const sent = " + JSON.stringify(req.headers.cookie ?? "none") + ";" + \`
    const seen = (look) => { try { return String(look()); } catch (error) { return error.name; } };
    const says = { sent, origin: self.origin, cookie: seen(() => document.cookie), storage: seen(() => localStorage.length) };
    const register = async () => navigator.serviceWorker.register("worker.js");
    register().then(() => "registered", (error) => error.name).then((worker) => {
      const to = new URL(location).searchParams.get("to");
      return fetch(to, { method: "POST", mode: "no-cors", body: JSON.stringify({ ...says, worker }) });
    });\` + "</script>");
}).listen(8000);
`;

test("a page of a sandbox below the server's own address has nothing of that address's origin", async () => {
  await using sandbox = await createSandbox(platform());
  await sandbox.client.files.write("site.js", SNOOPING_SITE);
  await sandbox.client.commands.run("node site.js", { background: true, timeoutMs: 0 });
  const url = `${platform().apiUrl}/ports/${sandbox.id}/8000/first`;
  const program = await eventually("the site answers", async () => {
    const answer = await fetch(url);
    return answer.status === 200 && answer;
  });
  expect(program.headers.get("set-cookie")).toBe("session=secret; Path=/");
  const script = `location.href = ${JSON.stringify(url)} + "?to=" + encodeURIComponent(location.origin + "/results")`;
  expect(await runInChromium<unknown>(script, { apiUrl: platform().apiUrl }, 60_000)).toEqual({
    sent: "none",
    origin: "null",
    cookie: "SecurityError",
    storage: "SecurityError",
    worker: "SecurityError",
  });
}, 90_000);
