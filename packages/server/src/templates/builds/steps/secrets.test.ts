import { expect, test } from "bun:test";
import { masker } from "./secrets.ts";

test("secrets are masked in lines, the longest first, each line of a secret by itself; short ones are not masked", () => {
  const mask = masker(["a-secret", "a-secret-and-more", "first line\n  second line\n", "of"]);
  expect(mask("a-secret-and-more, a-secret, second line of first line")).toBe("***, ***, *** of ***");
  expect(masker([])("a-secret")).toBe("a-secret");
});
