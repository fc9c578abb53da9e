import { describe, expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { envelope, readEnvelopes } from "./envelope.ts";
import { dataEnvelope } from "./process/data-envelope.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** Reads what `chunks` hold, as one body. */
async function read(chunks: readonly Uint8Array[], maxBytes?: number): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const messages: string[] = [];
  for await (const message of readEnvelopes(body, maxBytes)) messages.push(text(message));
  return messages;
}

describe("readEnvelopes", () => {
  const three = Buffer.concat([envelope(0, "one"), envelope(0, ""), envelope(0, "three".repeat(100))]);
  const expected = ["one", "", "three".repeat(100)];

  test("finds messages whatever the borders of the chunks", async () => {
    for (const size of [1, 2, 3, 4, 5, 7, 11, 64, three.length]) {
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < three.length; at += size) chunks.push(three.subarray(at, at + size), new Uint8Array(0));
      expect(await read(chunks)).toEqual(expected);
    }
  });

  test("refuses compression, unknown flags, too much, and an end within an envelope", async () => {
    const cases: [Uint8Array, string][] = [
      [envelope(1, "x"), "compressed"],
      [envelope(2, "x"), "bad_envelope"],
      [envelope(0, "123456789"), "too_large"],
      [envelope(0, "12345").subarray(0, 7), "bad_envelope"],
      [new Uint8Array([0, 0]), "bad_envelope"],
    ];
    for (const [bytes, reason] of cases) {
      expect(await read([bytes], 8).catch((error) => isAppError(error, reason))).toBe(true);
    }
  });

  test("many small chunks of a large message are joined once", async () => {
    const large = envelope(0, "x".repeat(4_000_000));
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < large.length; at += 1_000) chunks.push(large.subarray(at, at + 1_000));
    const startedAt = performance.now();
    expect((await read(chunks))[0]?.length).toBe(4_000_000);
    expect(performance.now() - startedAt).toBeLessThan(1_000);
  });
});

test("a data event is one envelope with the bytes in base64", () => {
  for (const kind of ["stdout", "stderr", "pty"] as const) {
    const bytes = crypto.getRandomValues(new Uint8Array(1_000));
    const { bytes: sent } = dataEnvelope({ kind, bytes });
    expect(new DataView(sent.buffer, sent.byteOffset).getUint32(1)).toBe(sent.length - 5);
    expect(JSON.parse(text(sent.subarray(5)))).toEqual({ event: { data: { [kind]: Buffer.from(bytes).toString("base64") } } });
  }
});
