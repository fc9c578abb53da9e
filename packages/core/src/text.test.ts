import { expect, test } from "bun:test";
import { withoutTrailing } from "./text.ts";

test("takes the character off the end alone", () => {
  const texts = ["/a//b//", "//", "", "a", "/a"];
  expect(texts.map((text) => withoutTrailing(text, "/"))).toEqual(["/a//b", "", "", "a", "/a"]);
});
