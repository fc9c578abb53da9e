import { expect, test } from "bun:test";
import { ByteBuilder } from "./byte-builder.ts";

test("a million pieces of one byte take at most two million bytes of memory, and come back unchanged", () => {
  const builder = new ByteBuilder();
  const piece = new Uint8Array(1);
  for (let i = 0; i < 1_000_000; i++) {
    piece[0] = i % 251;
    builder.append(piece);
  }
  expect(builder.capacity).toBeLessThanOrEqual(2_000_000);
  const all = builder.take();
  expect(all.byteLength).toBe(1_000_000);
  expect(all.findIndex((byte, i) => byte !== i % 251)).toBe(-1);
  expect([builder.byteLength, builder.capacity]).toEqual([0, 0]);
});

test("a taken buffer is not written to again", () => {
  const builder = new ByteBuilder();
  builder.append(Buffer.from("one"));
  const one = builder.take();
  builder.append(Buffer.from("two"));
  expect([one.toString(), builder.view().toString()]).toEqual(["one", "two"]);
});
