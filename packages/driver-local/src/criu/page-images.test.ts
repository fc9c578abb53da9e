import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { checkPagesIn, readPagemap } from "./page-images.ts";

const message = (...bytes: number[]) => Buffer.from([bytes.length, 0, 0, 0, ...bytes]);
const KIND = Buffer.from([1, 2, 3, 4, 5, 6, 7, 8]);
/** Pages of file 3: 2 and 300 that it holds, 5 that a parent's file holds. */
const MAP = Buffer.concat([
  KIND,
  message(8, 3),
  message(8, 0x80, 0x80, 0x80, 0x80, 0x80, 0x20, 16, 2, 32, 4),
  message(8, 0x80, 0x80, 1, 16, 5, 32, 1),
  message(8, 0x80, 0x80, 2, 32, 4, 40, 0xac, 2),
]);

let images: string;
beforeEach(() => {
  images = mkdtempSync(join(tmpdir(), "boxyard-pages-"));
  writeFileSync(join(images, "pagemap-1.img"), MAP);
});
afterEach(() => rmSync(images, { recursive: true }));

test("a map says which file its pages are in, and how many", () => {
  expect(readPagemap(MAP, "pagemap-1.img")).toEqual({ pagesId: 3, pages: 302 });
});

test("a complete file of pages passes", () => {
  writeFileSync(join(images, "pages-3.img"), Buffer.alloc(302 * 4096));
  checkPagesIn(images);
});

test("a file of pages that is cut off or missing is refused, and so is a map that is cut off", () => {
  expect(() => checkPagesIn(images)).toThrow("not written all of pages-3.img");
  writeFileSync(join(images, "pages-3.img"), Buffer.alloc(302 * 4096 - 1));
  expect(() => checkPagesIn(images)).toThrow("not written all of pages-3.img");
  for (const length of [MAP.length - 1, KIND.length + 2, KIND.length, 0]) {
    writeFileSync(join(images, "pagemap-1.img"), MAP.subarray(0, length));
    expect(() => checkPagesIn(images)).toThrow("not written all of pagemap-1.img");
  }
});
