import { expect, test } from "bun:test";
import { interpreterPatch } from "./elf.ts";
import { parseLdd } from "./libraries.ts";

/** The head of an executable with two program headers; the second names an interpreter of `size` bytes at 600. */
function executable(size: number): Uint8Array {
  const bytes = new Uint8Array(1024);
  const view = new DataView(bytes.buffer);
  view.setUint32(0, 0x7f454c46, false);
  bytes[4] = 2;
  bytes[5] = 1;
  view.setBigUint64(32, 64n, true);
  view.setUint16(56, 2, true);
  view.setUint32(64, 1, true);
  view.setUint32(120, 3, true);
  view.setBigUint64(128, 600n, true);
  view.setBigUint64(152, BigInt(size), true);
  return bytes;
}

test("the interpreter's string is replaced in place, padded with NULs", () => {
  const { offset, bytes } = interpreterPatch(executable(28), "/.boxyard/lib/ld.so");
  expect(offset).toBe(600);
  expect(Buffer.from(bytes).toString("latin1")).toBe(`/.boxyard/lib/ld.so${"\0".repeat(9)}`);
});

test("a path that is too long, and a file that is not an executable, are refused", () => {
  expect(() => interpreterPatch(executable(19), "/.boxyard/lib/ld.so")).toThrow("no room");
  expect(() => interpreterPatch(new Uint8Array(4096), "/x")).toThrow("not a 64-bit executable");
  const none = executable(28);
  none[120] = 1;
  expect(() => interpreterPatch(none, "/x")).toThrow("names no interpreter");
});

test("ldd's output gives the loader and every library", () => {
  const output = `\tlinux-vdso.so.1 (0x00007f5ed3781000)
\tlibc.so.6 => /lib/x86_64-linux-gnu/libc.so.6 (0x00007f5ed358e000)
\t/lib64/ld-linux-x86-64.so.2 (0x00007f5ed3783000)
\tlibm.so.6 => /lib/x86_64-linux-gnu/libm.so.6 (0x00007f5ed34a4000)\n`;
  expect(parseLdd(output)).toEqual({
    loader: "/lib64/ld-linux-x86-64.so.2",
    byName: new Map([
      ["libc.so.6", "/lib/x86_64-linux-gnu/libc.so.6"],
      ["libm.so.6", "/lib/x86_64-linux-gnu/libm.so.6"],
    ]),
  });
  expect(() => parseLdd("\tlibfoo.so.1 => not found\n")).toThrow("libfoo.so.1");
});
