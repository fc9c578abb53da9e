import { expect, test } from "bun:test";
import { parseOptions } from "./options.ts";

test("options of boxyard dist", () => {
  expect(parseOptions([])).toEqual({ baseline: false, force: false });
  expect(parseOptions(["--force", "--baseline"])).toEqual({ baseline: true, force: true });
  expect(() => parseOptions(["--arm"])).toThrow("--arm");
});
