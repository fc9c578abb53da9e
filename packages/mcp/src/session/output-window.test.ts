import { expect, test } from "bun:test";
import { OutputWindow } from "./output-window.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("keeps the last bytes, by their position", () => {
  const window = new OutputWindow(10);
  for (const text of ["abcd", "efgh", "ijkl"]) window.append(bytes(text));
  expect([window.start, window.end]).toEqual([2, 12]);
  expect(window.read(0, 100)).toEqual({ text: "cdefghijkl", from: 2, to: 12 });
  expect(window.read(5, 3)).toEqual({ text: "fgh", from: 5, to: 8 });
  expect(window.read(99, 3)).toEqual({ text: "", from: 12, to: 12 });
  expect(window.readLast(0, 5)).toEqual({ text: "hijkl", from: 7, to: 12 });
  expect(window.readLast(10, 5)).toEqual({ text: "kl", from: 10, to: 12 });
});

test("cuts no character", () => {
  const window = new OutputWindow(100);
  window.append(bytes("a€b😀c"));
  expect(window.read(0, 2)).toEqual({ text: "a", from: 0, to: 1 });
  expect(window.read(0, 4)).toEqual({ text: "a€", from: 0, to: 4 });
  expect(window.read(4, 4)).toEqual({ text: "b", from: 4, to: 5 });
  expect(window.readLast(0, 3)).toEqual({ text: "c", from: 9, to: 10 });
  expect(window.readLast(0, 5)).toEqual({ text: "😀c", from: 5, to: 10 });
});

test("goes on after bytes that were lost, and gets on with bytes that are no text", () => {
  const window = new OutputWindow(100);
  window.append(Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x61));
  expect(window.read(0, 3).to).toBe(3);
  window.skipTo(50);
  expect([window.start, window.end]).toEqual([50, 50]);
  window.append(bytes("xyz"));
  expect(window.read(0, 100)).toEqual({ text: "xyz", from: 50, to: 53 });
});
