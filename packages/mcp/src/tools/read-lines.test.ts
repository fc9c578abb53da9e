import { expect, test } from "bun:test";
import { readLines } from "./read-lines.ts";

const lines = (text: string | Uint8Array, fromLine = 1, count = 500) =>
  readLines(new Blob([text as BlobPart]).stream(), { path: "f", fromLine, lines: count });

test("gives the lines asked for, and says where to go on", async () => {
  expect(await lines("a\nb\nc\nd\n", 2, 2)).toBe("b\nc\n[more: from_line 4]");
  expect(await lines("a\nb\nc\nd\n", 3, 2)).toBe("c\nd\n");
  expect(await lines("a\nb", 2)).toBe("b");
  expect(await lines("")).toBe("(empty file)");
  await expect(lines("a\nb\n", 9)).rejects.toThrow("fewer than 9 lines");
});

test("is bounded, at the end of a line where there is one", async () => {
  const text = await lines(`${"x".repeat(999)}\n`.repeat(30));
  expect(text.length).toBeLessThan(16_200);
  expect(text).toEndWith("x\n[more: from_line 17]");
  expect(await lines("y".repeat(1 << 20))).toEndWith("y\n[line 1 goes on: run `cut -b`; next: from_line 2]");
});

test("refuses what is no text", async () => {
  await expect(lines(Uint8Array.of(1, 0, 2))).rejects.toThrow("binary");
});
