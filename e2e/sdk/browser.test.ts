import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { usePlatform } from "../support/platform.ts";
import { CASES } from "./cases/index.ts";

const platform = usePlatform();
const profile = mkdtempSync(join(tmpdir(), "boxyard-chromium-"));
afterAll(() => rmSync(profile, { recursive: true, force: true }));

const LIMIT_MS = 240_000;

/** A browser without a window, that finds no name but this machine's and has nothing to look for by itself. Root cannot have its sandbox. */
const CHROMIUM = [
  "chromium",
  "--headless=new",
  "--no-sandbox",
  "--disable-gpu",
  "--disable-dev-shm-usage",
  "--no-first-run",
  "--disable-background-networking",
  "--disable-component-update",
  "--disable-sync",
  "--disable-default-apps",
  "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
];

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

type Results = [name: string, problem: string][];

test(
  "in Chromium, from a page of another origin: all of it passes",
  async () => {
    const bundle = await Bun.build({ entrypoints: [join(import.meta.dir, "in-browser.ts")], target: "browser", plugins: [STRICT] });
    expect(bundle.success).toBe(true);
    const script = await (bundle.outputs[0] as Blob).text();
    const { promise, resolve } = Promise.withResolvers<Results>();
    const { apiUrl, apiKey } = platform();
    let last = "nothing";
    const page = Bun.serve({
      hostname: "127.0.0.1",
      port: 0,
      routes: {
        "/": new Response('<!doctype html><script type="module" src="/script.js"></script>', { headers: { "Content-Type": "text/html" } }),
        "/script.js": new Response(script, { headers: { "Content-Type": "text/javascript" } }),
        "/options": Response.json({ options: { apiUrl, apiKey } }),
        "/progress": async (request) => {
          last = await request.text();
          return new Response();
        },
        "/results": async (request) => {
          resolve((await request.json()) as Results);
          return new Response();
        },
      },
      fetch: () => new Response(null, { status: 404 }),
    });
    const argv = [...CHROMIUM, `--user-data-dir=${profile}`, page.url.href];
    const browser = Bun.spawn(argv, { stdout: "ignore", stderr: "pipe", env: { PATH: "/usr/bin:/bin", HOME: profile } });
    const said = new Response(browser.stderr).text();
    try {
      const late = Bun.sleep(LIMIT_MS - 10_000).then((): Results => [["the browser is not done; it finished", last]]);
      const gone = browser.exited.then(async (): Promise<Results> => [["the browser ended", await said]]);
      const results = await Promise.race([promise, late, gone]);
      expect(results.filter(([, problem]) => problem !== "")).toEqual([]);
      expect(results.length).toBe(CASES.length);
    } finally {
      browser.kill();
      await browser.exited;
      await page.stop(true);
    }
  },
  LIMIT_MS,
);
