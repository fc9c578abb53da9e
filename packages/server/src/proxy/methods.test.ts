import { describe, expect, test } from "bun:test";
import { type Logger, silentLogger } from "@boxyard/core/node";
import { TestFront } from "../testing/front.ts";

const log = () => {
  const lines: Record<string, unknown>[] = [];
  const note = (facts: Record<string, unknown>) => void lines.push(facts);
  return { lines, logger: { ...silentLogger, info: note, error: note } as unknown as Logger };
};

/** The answer to a request with this method, to the API or to a port of the sandbox. */
async function answer(t: TestFront, method: string, headers: string): Promise<string> {
  const client = await t.client();
  client.send(`${method} /sandboxes?a=b HTTP/1.1\r\n${headers}Connection: close\r\n\r\n`);
  return client.isClosed();
}

describe.each(["the API", "the agent"])("a request to %s", (to) => {
  test.each([
    ["FOO", 501],
    ["TRACE", 501],
    ["CONNECT", 501],
    ["PROPFIND", 501],
    ["DeLeTe", 400],
    ["get", 400],
  ])("with the method %s is answered %i, and the log has the method as it was sent", async (method, status) => {
    const { lines, logger } = log();
    await using t = new TestFront(() => new Response("api"), undefined, undefined, logger);
    const text = await answer(t, method, to === "the API" ? "Host: x\r\n" : t.headers());
    // CONNECT has another form of target.
    if (method === "CONNECT") return expect(text).toMatch(/^HTTP\/1.1 (400|501) /);
    expect(text).toStartWith(`HTTP/1.1 ${status} `);
    expect(JSON.parse(text.slice(text.indexOf("\r\n\r\n")))).toMatchObject({ code: status });
    expect(lines).toEqual([{ method, path: "/sandboxes", status }]);
  });
});

test("a service of the user's own gets any method as it was sent", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`PropFind / HTTP/1.1\r\n${t.headers(t.userPort)}\r\n`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).toStartWith("PropFind / HTTP/1.1\r\n");
});

test("a handler that fails without an answer of its own is answered 500, and logged", async () => {
  const { lines, logger } = log();
  const failing = () => Promise.reject(new Error("no answer"));
  await using t = new TestFront(failing, undefined, undefined, logger);
  expect(await answer(t, "GET", "Host: x\r\n")).toStartWith("HTTP/1.1 500 ");
  expect(lines).toMatchObject([{ err: { message: "no answer" }, method: "GET", path: "/sandboxes", status: 500 }]);
});
