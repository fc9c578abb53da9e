import { expect, test } from "bun:test";
import { BodyStream } from "./body-stream.ts";

function make(maxBytes = 1 << 30) {
  const calls: string[] = [];
  const body = new BodyStream(maxBytes, { pause: () => calls.push("pause"), resume: () => calls.push("resume") });
  return { body, calls, reader: body.readable.getReader() };
}

test("the client waits while the reader is slow, and goes on when there is room", async () => {
  const { body, calls, reader } = make();
  for (let n = 0; n < 20; n++) body.push(new Uint8Array(64 << 10));
  expect(calls.filter((call) => call === "pause").length).toBeGreaterThan(0);
  calls.length = 0;
  for (let n = 0; n < 20; n++) await reader.read();
  await Bun.sleep(0);
  expect(calls).toContain("resume");
  body.end();
  expect((await reader.read()).done).toBe(true);
});

test("a body above its limit, and a client that goes, end the stream with the error", async () => {
  const long = make(10);
  long.body.push(new Uint8Array(11));
  await expect(long.reader.read()).rejects.toMatchObject({ reason: "body_too_large" });
  const cut = make();
  cut.body.fail(new Error("gone"));
  await expect(cut.reader.read()).rejects.toThrow("gone");
});

test("what comes after the reader has ended is dropped", async () => {
  const { body, reader } = make();
  await reader.cancel();
  body.push(new Uint8Array(5));
  body.end();
  expect((await reader.read()).done).toBe(true);
});
