import { expect, test } from "bun:test";
import { checkPromises } from "./promises.ts";

const linesOf = (text: string) => checkPromises({ path: "a.test.ts", text }).map(({ line }) => line);

test("finds checks of a promise that nothing awaits", () => {
  expect(linesOf('expect(p).rejects.toThrow("a");')).toEqual([1]);
  expect(linesOf("  const a = 1;\n  expect(run(a, (b) => b)).not.toBe(1);\n  expect(\n    run(a),\n  ).resolves.toBe(1);")).toEqual([3]);
  expect(linesOf('test("a", () => {\n  expect(p).rejects.toThrow();\n});')).toEqual([2]);
  expect(linesOf("if (a) expect(p).resolves.toBe(1);\nelse expect(p).rejects.toThrow();")).toEqual([1, 2]);
  expect(linesOf("all.forEach((p) => expect(p).resolves.toBe(1));")).toEqual([1]);
  expect(linesOf('await go();\neventually("it is there", () => isThere());\nstaysTrueFor(50, () => isThere());')).toEqual([2, 3]);
});

test("accepts checks that are awaited, returned or stored", () => {
  expect(linesOf("await expect(p).rejects.toThrow();\nreturn expect(p).resolves.toBe(1);")).toEqual([]);
  expect(linesOf("const refused = expect(p).rejects.toThrow();\nawait refused;")).toEqual([]);
  expect(
    linesOf("await Promise.all(all.map((p) => expect(p).resolves.toBe(1)));\nconst f = () =>\n  expect(p).rejects.toThrow();"),
  ).toEqual([]);
  expect(linesOf("await Promise.all([expect(p).resolves.toBe(1), eventually(text, isThere)]);")).toEqual([]);
  expect(linesOf('const there = () =>\n  eventually("it is there", isThere);')).toEqual([]);
});

test("accepts code that does not check a promise", () => {
  expect(linesOf("expect(a).toBe(b);\nmine.expect(p).rejects();\n// expect(p).rejects.toThrow();")).toEqual([]);
  expect(linesOf('expect(a).toBe(")");\nexpect(text(")")).toBe(await text);')).toEqual([]);
});
