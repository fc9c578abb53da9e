import { expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setCaBundle } from "./ca-bundle.ts";

const block = (pem: string) => `# boxyard: begin\n${pem}\n# boxyard: end\n`;

function withFile(work: (path: string) => void): void {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-ca-"));
  try {
    work(join(directory, "list.crt"));
  } finally {
    rmSync(directory, { recursive: true });
  }
}

test("certificates go behind the image's own, in the place of those that came before, wherever programs have put lines since", () => {
  // Longer than several pieces, and such that the block begins at every place of a piece's end.
  for (const length of [0, 1, 100, 16_383, 16_384, 50_000, ...Array.from({ length: 20 }, (_, index) => 32_760 + index)]) {
    withFile((path) => {
      const own = "x".repeat(Math.max(0, length - 1)) + (length > 0 ? "\n" : "");
      writeFileSync(path, `${own}${block("first")}behind\n${"y".repeat(20_000)}\n`);
      setCaBundle(path, "second\n\n");
      const rest = `${own}behind\n${"y".repeat(20_000)}\n`;
      expect(readFileSync(path, "utf8") === `${rest}${block("second")}`).toBe(true);
      setCaBundle(path, "");
      expect(readFileSync(path, "utf8") === rest).toBe(true);
    });
  }
});

test("a list without a newline at its end, with half a block, or of bytes that are no text keeps what it has", () => {
  for (const own of [Buffer.from("own"), Buffer.from("# boxyard: begin\nown\n"), Buffer.from([0xff, 0xfe, 10])]) {
    withFile((path) => {
      writeFileSync(path, own);
      setCaBundle(path, "new");
      const newline = own.at(-1) === 10 ? "" : "\n";
      expect(readFileSync(path)).toEqual(Buffer.concat([own, Buffer.from(newline + block("new"))]));
    });
  }
});

test("what is no file is refused", () => {
  withFile((path) => {
    mkdirSync(path);
    expect(() => setCaBundle(path, "pem")).toThrow("can't be written");
  });
});
