import { describe, expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { envelope } from "@boxyard/spec";
import { isLinear } from "@boxyard/testkit";
import { BodyBudget } from "../body/budget.ts";
import { bodyRules } from "../body/read-body.ts";
import { dataEnvelope } from "../process/rpc/data-envelope.ts";
import { readEnvelopes } from "./envelope.ts";

const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);

/** The messages of a body that arrives in these chunks. */
async function read(chunks: readonly Uint8Array[], maxBytes?: number): Promise<string[]> {
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      controller.close();
    },
  });
  const messages: string[] = [];
  const rules = bodyRules(
    new BodyBudget({ totalBytes: 8_000_000, freeBytes: 0, waitMs: 0, collectBytes: 1e9 }, () => {}).claim(),
    maxBytes === undefined ? {} : { maxBytes },
  );
  for await (const message of readEnvelopes(body, rules)) messages.push(text(message));
  return messages;
}

describe("readEnvelopes", () => {
  const three = Buffer.concat([envelope(0, "one"), envelope(0, ""), envelope(0, "three".repeat(100))]);
  const expected = ["one", "", "three".repeat(100)];

  test("reads messages from chunks of any size", async () => {
    for (const size of [1, 2, 3, 4, 5, 7, 11, 64, three.length]) {
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < three.length; at += size) chunks.push(three.subarray(at, at + size), new Uint8Array(0));
      expect(await read(chunks)).toEqual(expected);
    }
  });

  test("refuses compression, unknown flags, too large messages, and an end within an envelope", async () => {
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
    const readMessageOf = async (length: number) => {
      const large = envelope(0, "x".repeat(length));
      const chunks: Uint8Array[] = [];
      for (let at = 0; at < large.length; at += 1_000) chunks.push(large.subarray(at, at + 1_000));
      expect((await read(chunks))[0]?.length).toBe(length);
    };
    // If every chunk were joined with the earlier ones, the bytes would be copied once for each chunk.
    expect(await isLinear(readMessageOf, 500_000)).toBe(true);
  });
});

describe("the budget of readEnvelopes", () => {
  /** A body that is fed by hand, and its reader. */
  function open(kind: "one" | "many", times: { idleMs?: number; wholeMs?: number } = {}) {
    const budget = new BodyBudget({ totalBytes: 100, freeBytes: 0, waitMs: 20, collectBytes: 1e9 }, () => {});
    const claim = budget.claim();
    let feed = (_: Uint8Array) => {};
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        feed = (bytes) => controller.enqueue(bytes);
      },
    });
    return { budget, claim, feed, messages: readEnvelopes(body, bodyRules(claim, times), kind) };
  }

  test("a message is claimed from its header on until the next one is requested", async () => {
    const { budget, feed, messages } = open("many");
    const first = messages.next();
    feed(envelope(0, "x".repeat(50)).subarray(0, 10));
    await eventually(() => budget.usedBytes === 55);
    feed(envelope(0, "x".repeat(50)).subarray(10));
    expect((await first).value?.length).toBe(50);
    expect(budget.usedBytes).toBe(55);
    const second = messages.next();
    await eventually(() => budget.usedBytes === 0);
    feed(envelope(0, "y"));
    expect((await second).value?.length).toBe(1);
  });

  test("without room a message is resource_exhausted before it is read", async () => {
    const { budget, feed, messages } = open("many");
    const other = budget.claim();
    await other.hold(60);
    feed(envelope(0, "x".repeat(50)).subarray(0, 10));
    expect(await messages.next().catch((error) => isAppError(error, "bodies_full"))).toBe(true);
  });

  test("a client that stops within a message is an error; between messages there is no bound on time", async () => {
    const { feed, messages } = open("many", { idleMs: 20 });
    const next = messages.next();
    // Time alone: three times as long as a client may stop within a message.
    await Bun.sleep(60);
    feed(envelope(0, "one"));
    expect((await next).value?.length).toBe(3);
    const broken = messages.next();
    feed(envelope(0, "two").subarray(0, 6));
    expect(await broken.catch((error) => isAppError(error, "body_idle"))).toBe(true);
  });

  test("a single message must begin within idleMs, and be complete within wholeMs", async () => {
    const late = open("one", { idleMs: 20 });
    expect(await late.messages.next().catch((error) => isAppError(error, "body_idle"))).toBe(true);
    const slow = open("one", { wholeMs: 50 });
    slow.feed(envelope(0, "x".repeat(90)).subarray(0, 6));
    const dripping = setInterval(() => slow.feed(new Uint8Array(1)), 5);
    expect(await slow.messages.next().catch((error) => isAppError(error, "body_idle"))).toBe(true);
    clearInterval(dripping);
  });
});

/** Resolves when `reached` returns true; fails after eight seconds. */
async function eventually(reached: () => boolean): Promise<void> {
  for (const deadline = Date.now() + 8_000; !reached(); await Bun.sleep(1)) if (Date.now() > deadline) throw new Error("not reached");
}

test("a data event is one envelope with the bytes in base64", () => {
  for (const kind of ["stdout", "stderr", "pty"] as const) {
    const bytes = crypto.getRandomValues(new Uint8Array(1_000));
    const { bytes: sent } = dataEnvelope({ kind, bytes });
    expect(new DataView(sent.buffer, sent.byteOffset).getUint32(1)).toBe(sent.length - 5);
    expect(JSON.parse(text(sent.subarray(5)))).toEqual({ event: { data: { [kind]: Buffer.from(bytes).toString("base64") } } });
  }
});
