import { expect, test } from "bun:test";
import { section, summary, withoutLinks } from "./markdown.ts";

const TEXT = "# Title\n\nOne [two](a.md)\nthree.\n\n## A\n\ntext\n\n### B\n\nmore\n\n## C\n\nend\n";

test("takes a section, with its smaller headings", () => {
  expect(section(TEXT, "A")).toBe("text\n\n### B\n\nmore");
  expect(section(TEXT, "C")).toBe("end");
  expect(() => section(TEXT, "B")).toThrow("no heading 'B'");
});

test("takes the first paragraph, and writes links as text", () => {
  expect(summary(TEXT)).toBe("One two (a.md) three.");
  expect(withoutLinks("[a.md](a.md), [b](#there), [c](https://c.example/)")).toBe("a.md, b, [c](https://c.example/)");
});
