import { expect, test } from "bun:test";
import { parseOptions } from "./options.ts";

test("options of boxyard dist", () => {
  const none = { baseline: false, force: false, packagesOnly: false, images: false, help: false };
  expect(parseOptions([])).toEqual(none);
  expect(parseOptions(["--force", "--baseline"])).toEqual({ ...none, baseline: true, force: true });
  expect(parseOptions(["--packages"])).toEqual({ ...none, packagesOnly: true });
  expect(parseOptions(["--images"])).toEqual({ ...none, images: true });
  expect(parseOptions(["-h"])).toEqual({ ...none, help: true });
  expect(() => parseOptions(["--arm"])).toThrow("--arm");
});
