import { expect, test } from "bun:test";
import { parseSkips, reasonFor } from "./skips.ts";

const TABLE = "# Skips\n\n| test | where | reason |\n|---|---|---|\n| `vm > boots` | no KVM | needs hardware |\n";

test("reads only the rows of the table", () => {
  expect(parseSkips(TABLE)).toEqual([{ test: "vm > boots", where: "no KVM", reason: "needs hardware" }]);
});

test("finds the reason by part of a test's name", () => {
  const allowed = parseSkips(TABLE);
  expect(reasonFor("e2e/vm.test.ts: vm > boots in 3 s", allowed)).toBe("needs hardware");
  expect(reasonFor("vm > halts", allowed)).toBeUndefined();
});
