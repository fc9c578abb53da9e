import { afterEach, beforeEach, expect, type Mock, spyOn, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Machine } from "../machine.ts";
import { run, VERBS } from "./index.ts";

let directory: string;
let printed: Mock<typeof console.log>;
let errors: Mock<typeof console.error>;
/** What was asked of the machine, which answers nothing. */
let touched: PropertyKey[];
let machine: Machine;

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), "boxyard-verbs-"));
  process.env.BOXYARD_DATA = join(directory, "data");
  printed = spyOn(console, "log").mockImplementation(() => {});
  errors = spyOn(console, "error").mockImplementation(() => {});
  touched = [];
  machine = new Proxy({} as Machine, {
    get: (_target, name) => {
      touched.push(name);
      throw new Error(`the machine was asked for ${String(name)}`);
    },
  });
});
const before = process.env.BOXYARD_DATA;
const mask = process.umask();
afterEach(() => {
  process.umask(mask); // A verb sets it for its process; here other test files follow in this process.
  if (before === undefined) delete process.env.BOXYARD_DATA;
  else process.env.BOXYARD_DATA = before;
  printed.mockRestore();
  errors.mockRestore();
  rmSync(directory, { recursive: true });
});

const help = () => printed.mock.calls.flat().join("\n");

test.each(Object.keys(VERBS).flatMap((verb) => [[verb, "--help"] as const, [verb, "-h"] as const]))(
  "%s %s prints the verb's usage and does nothing",
  async (verb, flag) => {
    expect(await run([verb, flag], machine)).toBe(0);
    expect(help()).toContain(`  ${verb} `);
    expect({ touched, errors: errors.mock.calls, made: existsSync(join(directory, "data")) }).toEqual({
      touched: [],
      errors: [],
      made: false,
    });
  },
);

test("help works after other arguments too: what stands before it is not done", async () => {
  expect(await run(["release", "--sandboxes", "--help"], machine)).toBe(0);
  expect(await run(["base-archive", join(directory, "base.tar"), "--help"], machine)).toBe(0);
  expect(touched).toEqual([]);
});

test("--help alone shows every verb; no verb and an unknown one are refused with the same text", async () => {
  expect(await run(["--help"], machine)).toBe(0);
  for (const verb of Object.keys(VERBS)) expect(help()).toContain(`  ${verb} `);
  for (const argv of [[], ["sereve"], ["toString"], ["base-archive"]]) {
    errors.mockClear();
    expect(await run(argv, machine)).toBe(2);
    expect(errors.mock.calls).toEqual([[help()]]);
  }
  expect(touched).toEqual([]);
});
