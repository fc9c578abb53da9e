import { expect, test } from "bun:test";
import { DetachKeys } from "./detach-keys.ts";

const bytes = (text: string) => new TextEncoder().encode(text);

test("what is typed is passed on as it is", () => {
  expect(new DetachKeys().read(bytes("ls\r\x1b[A"))).toEqual({ input: bytes("ls\r\x1b[A"), detach: false });
});

test("Ctrl-] d detaches, also in pieces, and drops what follows", () => {
  expect(new DetachKeys().read(bytes("ab\x1ddef"))).toEqual({ input: bytes("ab"), detach: true });
  const keys = new DetachKeys();
  expect(keys.read(bytes("a\x1d"))).toEqual({ input: bytes("a"), detach: false });
  expect(keys.read(bytes("d"))).toEqual({ input: bytes(""), detach: true });
});

test("Ctrl-] twice is one, and before another key it is kept", () => {
  expect(new DetachKeys().read(bytes("\x1d\x1dd"))).toEqual({ input: bytes("\x1dd"), detach: false });
  expect(new DetachKeys().read(bytes("\x1dx"))).toEqual({ input: bytes("\x1dx"), detach: false });
});
