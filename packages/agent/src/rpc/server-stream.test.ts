import { afterEach, beforeEach, expect, jest, test } from "bun:test";
import { processService, type StartResponse } from "@boxyard/spec/agent";
import { EncodedEnvelope } from "../contracts.ts";
import { serverStreamBody } from "./server-stream.ts";

const INTERVAL_MS = 1_000;

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

/** A stream with a reader. `send` sends a message; `received` has what the reader got. */
function open() {
  let give = (_message: EncodedEnvelope) => {};
  const messages = (async function* () {
    for (;;) {
      yield await new Promise<EncodedEnvelope>((resolve) => {
        give = resolve;
      });
    }
  })();
  const body = serverStreamBody<StartResponse>(messages, {
    output: processService.methods.Start.output,
    keepalive: { event: { keepalive: {} } },
    keepaliveMs: INTERVAL_MS,
    signal: new AbortController().signal,
    onEnd() {},
    onLeave() {},
    onError() {},
  });
  const received: unknown[] = [];
  void (async () => {
    for await (const bytes of body) received.push(bytes.length === 1 ? "message" : JSON.parse(Buffer.from(bytes.subarray(5)).toString()));
  })();
  const settle = async () => {
    for (let i = 0; i < 30; i++) await Promise.resolve();
  };
  return {
    received,
    settle,
    async send() {
      give(new EncodedEnvelope(new Uint8Array(1)));
      await settle();
    },
    async pass(ms: number) {
      jest.advanceTimersByTime(ms);
      await settle();
    },
  };
}

test("keepalives go out after each interval in which nothing was sent; a message starts the interval anew", async () => {
  const keepalive = { event: { keepalive: {} } };
  const { received, settle, send, pass } = open();
  await settle();
  await pass(INTERVAL_MS - 1);
  await send();
  await pass(INTERVAL_MS - 1);
  expect(received).toEqual(["message"]);
  await pass(1);
  await pass(INTERVAL_MS);
  expect(received).toEqual(["message", keepalive, keepalive]);
});
