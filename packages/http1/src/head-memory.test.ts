import { expect, test } from "bun:test";
import { HeadMemory } from "./head-memory.ts";

const bytes = (text: string) => Buffer.from(text, "latin1");
const HEAD = "GET / HTTP/1.1\r\nHost: h\r\n\r\n";

test("recalls the same head, whatever follows it, and no other", () => {
  const memory = new HeadMemory<string>();
  expect(memory.recall(bytes(HEAD))).toBeUndefined();
  const piece = bytes(`${HEAD}body`);
  memory.remember(piece, HEAD.length, "made");
  expect([memory.recall(bytes(HEAD)), memory.recall(bytes(`${HEAD}other body`)), memory.byteLength]).toEqual(["made", "made", HEAD.length]);
  for (const other of [HEAD.slice(0, -1), HEAD.replace("h\r", "i\r"), HEAD.toLowerCase(), `x${HEAD}`, ""]) {
    expect(memory.recall(bytes(other))).toBeUndefined();
  }
  // It keeps a copy of the bytes.
  piece.fill(0);
  expect(memory.recall(bytes(HEAD))).toBe("made");
});

test("keeps one head, and no large one", () => {
  const memory = new HeadMemory<number>();
  memory.remember(bytes(HEAD), HEAD.length, 1);
  const large = `GET / HTTP/1.1\r\nHost: ${"h".repeat(3000)}\r\n\r\n`;
  memory.remember(bytes(large), large.length, 2);
  expect([memory.recall(bytes(HEAD)), memory.recall(bytes(large)), memory.byteLength]).toEqual([undefined, undefined, 0]);
});

test("recalls the fields of a head behind another first line", () => {
  const memory = new HeadMemory<string>();
  memory.remember(bytes(HEAD), HEAD.length, "made");
  const other = `PUT /longer/path HTTP/1.1\r\nHost: h\r\n\r\n`;
  expect(memory.recallFields(bytes(`${other}body`))).toEqual({ made: "made", line: 25, end: other.length });
  for (const text of [
    other.slice(0, -1),
    other.replace("h\r", "i\r"),
    other.replace("Host", "X: y\r\nHost"),
    "GET / HTTP/1.1",
    "",
    "\r\n",
  ]) {
    expect(memory.recallFields(bytes(text))).toBeUndefined();
  }
});
