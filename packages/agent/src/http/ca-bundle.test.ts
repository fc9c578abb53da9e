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

test("certificates are appended to the image's own and replace those of the last call, also where other lines follow them", () => {
  // Some files are longer than several pieces; in others the block begins at each offset around the end of a piece.
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

test("a file without a newline at its end, with half a block, or with bytes that are not UTF-8 keeps its content", () => {
  for (const own of [Buffer.from("own"), Buffer.from("# boxyard: begin\nown\n"), Buffer.from([0xff, 0xfe, 10])]) {
    withFile((path) => {
      writeFileSync(path, own);
      setCaBundle(path, "new");
      const newline = own.at(-1) === 10 ? "" : "\n";
      expect(readFileSync(path)).toEqual(Buffer.concat([own, Buffer.from(newline + block("new"))]));
    });
  }
});

test("a path that is not a regular file is refused", () => {
  withFile((path) => {
    mkdirSync(path);
    expect(() => setCaBundle(path, "pem")).toThrow("can't be written");
  });
});
