import { describe, expect, test } from "bun:test";
import { ChunkedDecoder, ChunkedScanner, scannerFor } from "./body.ts";

/** Scans `text` in pieces of `step`; returns how many bytes belong to the body. Throws the scanner's error. */
function scan(text: string, step: number): { taken: number; done: boolean } {
  const scanner = new ChunkedScanner();
  const bytes = Buffer.from(text, "latin1");
  let taken = 0;
  for (let at = 0; at < bytes.byteLength && !scanner.done; at += step) taken += scanner.take(bytes.subarray(at, at + step), 0);
  return { taken, done: scanner.done };
}

describe("chunked bodies", () => {
  const good: [string, string, string][] = [
    ["plain", "3\r\nabc\r\n0\r\n\r\n", "abc"],
    ["with an extension", "3;a=b\r\nabc\r\n0\r\n\r\n", "abc"],
    ["with trailers", "3\r\nabc\r\n0\r\nX: y\r\nZ: 1\r\n\r\n", "abc"],
    ["in upper and lower hex", "A\r\n0123456789\r\nb\r\n01234567890\r\n0\r\n\r\n", "012345678901234567890"],
    ["with line ends in the data", "4\r\n\r\n\r\n\r\n0\r\n\r\n", "\r\n\r\n"],
  ];
  test.each(good)("%s: the end is found in pieces of any size", (_what, wire, content) => {
    for (const step of [1, 2, 3, 5, 100]) {
      expect(scan(`${wire}GET / HTTP/1.1`, step).taken).toBe(wire.length);
      const decoder = new ChunkedDecoder();
      const parts: Buffer[] = [];
      for (let at = 0; at < wire.length; at += step) parts.push(decoder.push(Buffer.from(wire.slice(at, at + step), "latin1")));
      expect(Buffer.concat(parts).toString("latin1")).toBe(content);
    }
  });

  test.each([
    ["no size", "\r\nabc"],
    ["a bare LF after the size", "3\nabc\r\n0\r\n\r\n"],
    ["a bare LF in an extension", "3;a\nb\r\nabc"],
    ["a CR without LF in an extension", "3;a\rb\r\nabc"],
    ["a sign before the size", "-3\r\nabc"],
    ["0x before the size", "0x3\r\nabc"],
    ["a size that is too large", "1234567890123\r\n"],
    ["data that is longer than its size", "3\r\nabcd\r\n"],
    ["a bare LF in a trailer", "0\r\nX: a\nY: b\r\n\r\n"],
    ["an endless extension", `3;${"a".repeat(5000)}`],
    ["endless trailers", `0\r\n${"X: y\r\n".repeat(4000)}`],
  ])("with %s are refused", (_what, wire) => {
    for (const step of [1, 7, 10_000]) expect(() => scan(wire, step)).toThrow();
  });
});

test("a body with a length ends after that many bytes", () => {
  const scanner = scannerFor({ kind: "length", length: 5 });
  expect(scanner.take(Buffer.from("abc"), 0)).toBe(3);
  expect(scanner.take(Buffer.from("xdefg"), 1)).toBe(2);
  expect(scanner.done).toBe(true);
  expect(scannerFor({ kind: "none" }).done).toBe(true);
});
