import { expect, test } from "bun:test";
import { join } from "node:path";
import { runInChromium } from "../support/chromium.ts";
import { usePlatform } from "../support/platform.ts";
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

type Results = [name: string, problem: string][];

test(
  "in Chromium, from a page of another origin: all of it passes",
  async () => {
    const bundle = await Bun.build({ entrypoints: [join(import.meta.dir, "in-browser.ts")], target: "browser", plugins: [STRICT] });
    expect(bundle.success).toBe(true);
    const script = await (bundle.outputs[0] as Blob).text();
    const { apiUrl, apiKey } = platform();
    const results = await runInChromium<Results>(script, { apiUrl, apiKey }, LIMIT_MS - 10_000);
    expect(results.filter(([, problem]) => problem !== "")).toEqual([]);
    expect(results.length).toBe(CASES.length);
  },
  LIMIT_MS,
);
