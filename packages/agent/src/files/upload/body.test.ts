import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import { FakeClock, systemClock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { chunksOf, codingOf, gunzip, idleWatch } from "./body.ts";

describe("chunksOf", () => {
  test("fails when no data arrives for the idle time, counted from the last chunk", async () => {
    const clock = new FakeClock();
    let controller: ReadableStreamDefaultController<Uint8Array> | undefined;
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (c) => {
        controller = c;
      },
      cancel() {
        cancelled = true;
      },
    });
    const chunks = chunksOf(body, clock);
    controller?.enqueue(new Uint8Array(1));
    expect((await chunks.next()).value).toEqual(new Uint8Array(1));
    const next = chunks.next();
    await clock.advance(LIMITS.uploadIdleMs - 1);
    controller?.enqueue(new Uint8Array(2));
    expect((await next).value).toEqual(new Uint8Array(2));
    const late = chunks.next();
    late.catch(() => {});
    await clock.advance(LIMITS.uploadIdleMs);
    await expect(late).rejects.toThrow(expect.objectContaining({ reason: "body_idle" }));
    expect(cancelled).toBe(true);
  });

  test("an absent body is an empty one; a reader that stops early cancels the body", async () => {
    expect((await chunksOf(null, systemClock).next()).done).toBe(true);
    let cancelled = false;
    const endless = new ReadableStream<Uint8Array>({
      pull: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel() {
        cancelled = true;
      },
    });
    for await (const _ of chunksOf(endless, systemClock)) break;
    expect(cancelled).toBe(true);
  });
});

test("chunks that were read do not stay in memory", async () => {
  let left = 4000;
  const body = new ReadableStream<Uint8Array>({
    pull(controller) {
      if (left-- === 0) controller.close();
      else controller.enqueue(new Uint8Array(128 * 1024).fill(left));
    },
  });
  const before = process.memoryUsage.rss();
  let peak = 0;
  let count = 0;
  for await (const _ of chunksOf(body, systemClock)) {
    if (++count % 200 !== 0) continue;
    await Bun.sleep(1);
    peak = Math.max(peak, process.memoryUsage.rss());
  }
  expect(peak - before).toBeLessThan(200 * 1024 * 1024);
});

test("a client that stops sending is an error on a real connection too", async () => {
  const clock = new FakeClock();
  const outcome = Promise.withResolvers<unknown>();
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(request) {
      try {
        for await (const _ of chunksOf(request.body as ReadableStream<Uint8Array> | null, clock)) void clock.advance(LIMITS.uploadIdleMs);
        outcome.resolve("ended");
      } catch (error) {
        outcome.resolve(error);
      }
      return new Response("", { status: 408 });
    },
  });
  const leaving = new AbortController();
  const silent = new ReadableStream({ start: (controller) => controller.enqueue(new Uint8Array(10)) });
  const request = fetch(server.url, { method: "POST", body: silent, signal: leaving.signal }).catch(() => {});
  expect(await outcome.promise).toMatchObject({ reason: "body_idle" });
  leaving.abort();
  await request;
  await server.stop(true);
});

test("a stopped idleWatch never settles", async () => {
  const clock = new FakeClock();
  const idle = idleWatch(clock, 100);
  idle.stop();
  await clock.advance(1000);
  expect(await Promise.race([idle.expired.catch(() => "expired"), Bun.sleep(5).then(() => "silent")])).toBe("silent");
});

describe("gunzip", () => {
  const one = async function* (bytes: Uint8Array) {
    yield bytes;
  };

  test("a gzip bomb is decoded in small pieces and is never in memory as a whole", async () => {
    const bomb = gzipSync(new Uint8Array(256 * 1024 * 1024));
    const before = process.memoryUsage.rss();
    let bytes = 0;
    let largest = 0;
    let peak = 0;
    for await (const chunk of gunzip(one(bomb))) {
      bytes += chunk.length;
      largest = Math.max(largest, chunk.length);
      if (bytes % (16 * 1024 * 1024) === 0) {
        peak = Math.max(peak, process.memoryUsage.rss());
        await Bun.sleep(1);
      }
    }
    expect([bytes, largest <= 64 * 1024]).toEqual([256 * 1024 * 1024, true]);
    expect(peak - before).toBeLessThan(128 * 1024 * 1024);
  });

  test("bytes that are not gzip are 400; an error of the source is thrown unchanged", async () => {
    const drain = async (chunks: AsyncIterable<Uint8Array>) => {
      for await (const _ of gunzip(chunks));
    };
    await expect(drain(one(Buffer.from("plain")))).rejects.toThrow("not valid gzip");
    await expect(drain(one(gzipSync("x").subarray(0, 8)))).rejects.toThrow("not valid gzip");
    const failing = async function* (): AsyncGenerator<Uint8Array> {
      yield gzipSync("x".repeat(1000)).subarray(0, 10);
      throw new Error("connection lost");
    };
    await expect(drain(failing())).rejects.toThrow("connection lost");
  });
});

test("codingOf", () => {
  const of = (value: string) => codingOf(new Headers({ "Content-Encoding": value }));
  expect([codingOf(new Headers()), of("identity"), of("GZIP"), of("x-gzip")]).toEqual(["identity", "identity", "gzip", "gzip"]);
  for (const value of ["br", "gzip, gzip", "deflate"]) expect(() => of(value)).toThrow("unsupported content encoding");
});
