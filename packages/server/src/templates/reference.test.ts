import { expect, test } from "bun:test";
import { parseTemplateReference } from "./reference.ts";

test.each([
  ["base", { name: "base" }],
  [" Base:V1.2 ", { name: "base", tag: "v1.2" }],
  ["team/base", { namespace: "team", name: "base" }],
  ["team/base:default", { namespace: "team", name: "base", tag: "default" }],
])("%p is understood", (text, reference) => {
  expect(parseTemplateReference(text)).toEqual(reference);
});

test.each(["", ":", "a:", ":a", "/a", "a/", "a/b/c", "a:b:c", "ä", "a b", "../a", "a".repeat(129)])("%p is refused", (text) => {
  expect(() => parseTemplateReference(text)).toThrow("Invalid template reference");
});
