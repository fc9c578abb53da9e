import { expect, test } from "bun:test";
import { MAX_MESSAGE_BYTES, MessageCutter } from "./message-cutter.ts";

const tooLarge = () => new Error("too large");
const message = (text: string, flags = 0) => {
  const bytes = Buffer.alloc(5 + Buffer.byteLength(text));
  bytes[0] = flags;
  bytes.writeUInt32BE(Buffer.byteLength(text), 1);
  bytes.write(text, 5);
  return bytes;
};

test("messages are complete for chunks of any size", () => {
  const texts = ["", "a", "ü".repeat(100), "", "end"];
  const stream = Buffer.concat(texts.map((text, i) => message(text, i)));
  for (let size = 1; size <= stream.length; size++) {
    const cutter = new MessageCutter();
    const found: [number, string][] = [];
    for (let at = 0; at < stream.length; at += size) {
      for (const { flags, bytes } of cutter.push(stream.subarray(at, at + size), tooLarge))
        found.push([flags, Buffer.from(bytes).toString()]);
    }
    expect(found).toEqual(texts.map((text, i) => [i, text]));
  }
});

test("a message is refused by the length in its header, before its bytes arrive", () => {
  const header = Buffer.from([0, 0, 0, 0, 0]);
  header.writeUInt32BE(MAX_MESSAGE_BYTES + 1, 1);
  expect(() => [...new MessageCutter().push(header, tooLarge)]).toThrow("too large");
  header.writeUInt32BE(MAX_MESSAGE_BYTES, 1);
  expect([...new MessageCutter().push(header, tooLarge)]).toEqual([]);
});
