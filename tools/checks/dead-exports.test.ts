import { expect, test } from "bun:test";
import { deadExports } from "./dead-exports.ts";

const source = (path: string, text: string) => ({ path: `packages/${path}`, text });

test("finds an export that no other file uses, with its line", () => {
  const used = source("a/src/used.ts", "export const used = 1;\nexport type Loose = 1;\n");
  const dead = source("a/src/dead.ts", 'import { used } from "./used.ts";\n\nexport async function dead() {\n  dead(used);\n}\n');
  expect(deadExports([used, dead])).toEqual([{ path: dead.path, line: 3, message: "dead is exported, but no other file uses it" }]);
});

test("does not check the client, whose exports are for its users, and tests", () => {
  expect(deadExports([source("sdk/src/a.ts", "export const a = 1;"), source("b/src/b.test.ts", "export const b = 1;")])).toEqual([]);
});
