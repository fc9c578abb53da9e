import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bytesField, numberField, withMessages } from "../criu/image-messages.ts";
import { checkPrograms } from "./programs.ts";

const images = mkdtempSync(join(tmpdir(), "boxyard-programs-"));
afterAll(() => rmSync(images, { recursive: true }));

const write = (name: string, message: Buffer) => writeFileSync(join(images, name), withMessages(Buffer.alloc(8), [message]));
/** The fields before the program, with numbers as large as the kernel's largest addresses. */
const before = Array.from({ length: 11 }, (_, i) => numberField(i + 1, 2n ** 63n));

test("a process that runs a program in memory is named; what its image holds after the program is not read", () => {
  // These bytes are no field: a parser that reads them reports a damaged image.
  const damaged = Buffer.alloc(1000, 0xff);
  write("mm-7.img", Buffer.concat([...before, numberField(12, 300n), damaged]));
  write("core-7.img", bytesField(3, bytesField(6, Buffer.from("loader"))));
  checkPrograms(images, new Set());
  checkPrograms(images, new Set([301n]));
  expect(() => checkPrograms(images, new Set([300n]))).toThrow("process 7 in the sandbox (loader) runs a program that is in memory alone");
});
