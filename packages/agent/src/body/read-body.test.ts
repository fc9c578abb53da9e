import { describe, expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { BodyBudget } from "./budget.ts";
import { type BodyRules, bodyRules, readBody } from "./read-body.ts";

const MIB = 1024 * 1024;

function setUp(changes: Partial<BodyRules> = {}) {
  const budget = new BodyBudget({ totalBytes: 4 * MIB, freeBytes: 0, waitMs: 20, collectBytes: 1e9 }, () => {});
  const claim = budget.claim();
  return { budget, claim, rules: bodyRules(claim, changes) };
}

const request = (body: BodyInit, headers: Record<string, string> = {}) => new Request("http://agent/x", { method: "POST", body, headers });

const streamOf = (chunks: readonly Uint8Array<ArrayBuffer>[], closes = true) =>
  new ReadableStream<Uint8Array<ArrayBuffer>>({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(chunk);
      if (closes) controller.close();
    },
  });

describe("readBody", () => {
  test("reads the whole body, with and without a Content-Length", async () => {
    const bytes = crypto.getRandomValues(new Uint8Array(50_000));
    for (const body of [bytes, streamOf([bytes.slice(0, 20_000), bytes.slice(20_000)])]) {
      expect(Buffer.compare(await readBody(request(body), setUp().rules), bytes)).toBe(0);
    }
    expect((await readBody(new Request("http://agent/x", { method: "POST" }), setUp().rules)).length).toBe(0);
  });

  test("a body of unknown length is claimed as it grows, and refused where there is no room", async () => {
    const { budget, rules } = setUp();
    await readBody(request(streamOf([new Uint8Array(MIB), new Uint8Array(MIB)])), rules);
    expect(budget.usedBytes).toBe(2 * MIB);
    const more = readBody(request(streamOf([new Uint8Array(3 * MIB)])), bodyRules(budget.claim()));
    expect(await more.catch((error) => isAppError(error, "bodies_full"))).toBe(true);
  });

  test("a body above the limit is refused, by its Content-Length or while it is read", async () => {
    const refusal = (body: BodyInit, headers = {}) =>
      readBody(request(body, headers), setUp({ maxBytes: 10 }).rules).catch((error) => isAppError(error, "too_large"));
    expect(await refusal(streamOf([new Uint8Array(6), new Uint8Array(6)]))).toBe(true);
    expect(await refusal("x", { "Content-Length": "11" })).toBe(true);
  });

  test("a client that stops sending is an error, and its body is cancelled", async () => {
    let isCancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(new Uint8Array(10)),
      cancel() {
        isCancelled = true;
      },
    });
    const read = readBody(request(body as unknown as BodyInit), setUp({ idleMs: 20 }).rules);
    expect(await read.catch((error) => isAppError(error, "body_idle"))).toBe(true);
    expect(isCancelled).toBe(true);
  });
});

/** Sends a request by hand that stops in its middle. Resolves when the other side has closed the connection. */
async function stall(url: URL, length: number): Promise<string> {
  const closed = Promise.withResolvers<string>();
  let answer = "";
  await Bun.connect({
    hostname: url.hostname,
    port: Number(url.port),
    socket: {
      open: (socket) => void socket.write(`POST / HTTP/1.1\r\nHost: agent\r\nContent-Length: ${length}\r\n\r\nsome`),
      data: (_, bytes) => {
        answer += bytes.toString();
      },
      close: () => closed.resolve(answer),
    },
  });
  return closed.promise;
}

test("on a real connection: an answer with Connection: close ends the wait for a body that never arrives, short or long", async () => {
  const failures: unknown[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    idleTimeout: 0,
    async fetch(incoming) {
      await readBody(incoming, setUp({ idleMs: 50 }).rules).catch((error) => failures.push(error));
      return new Response("late", { status: 408, headers: { Connection: "close" } });
    },
  });
  try {
    for (const length of [LIMITS.bodyFreeBytes, MIB]) expect(await stall(server.url, length)).toContain("408");
    expect(failures.map((error) => isAppError(error, "body_idle"))).toEqual([true, true]);
  } finally {
    await server.stop(true);
  }
});
