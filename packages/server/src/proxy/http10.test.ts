import { expect, test } from "bun:test";
import { once } from "node:events";
import { connect } from "node:net";
import { TestFront } from "../testing/front.ts";

/** What a client of HTTP/1.0 gets of an answer that comes in these pieces. */
async function got(pieces: readonly string[]): Promise<string> {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET / HTTP/1.0\r\n${t.headers()}Connection: keep-alive\r\n\r\n`);
  const upstream = await t.upstream.peer(0);
  expect(await upstream.includes("\r\n\r\n")).toStartWith("GET / HTTP/1.0\r\n");
  for (const piece of pieces) {
    upstream.send(piece);
    await Bun.sleep(5);
  }
  return client.isClosed();
}

const CHUNKED = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n";

test("a client of HTTP/1.0 gets the content of a chunked answer, in pieces of any size, and then the end", async () => {
  const wire = `${CHUNKED}X: y\r\n\r\n3\r\nabc\r\n5;e=f\r\nhello\r\n0\r\nTrailer: z\r\n\r\n`;
  const wanted = "HTTP/1.1 200 OK\r\nX: y\r\nConnection: close\r\n\r\nabchello";
  expect(await got([wire])).toBe(wanted);
  for (const step of [1, 3, 40]) {
    const pieces = Array.from({ length: Math.ceil(wire.length / step) }, (_, i) => wire.slice(i * step, (i + 1) * step));
    expect(await got(pieces)).toBe(wanted);
  }
});

test("large chunks, which the kernel would move, come without their framing too", async () => {
  const size = 3 << 18;
  const answer = await got([
    `${CHUNKED}\r\n${size.toString(16)}\r\n`,
    "a".repeat(1 << 18),
    "b".repeat(1 << 18),
    "c".repeat(1 << 18),
    "\r\n0\r\n\r\n",
  ]);
  const body = answer.slice(answer.indexOf("\r\n\r\n") + 4);
  expect([body.length, body.slice(0, 1 << 18) === "a".repeat(1 << 18), body.at(-1)]).toEqual([size, true, "c"]);
});

test("an incomplete answer does not look complete: the connection is reset", async () => {
  await using t = new TestFront();
  const client = connect(t.front.port, "127.0.0.1");
  client.write(`GET / HTTP/1.0\r\n${t.headers()}\r\n`);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("\r\n\r\n");
  upstream.send(`${CHUNKED}\r\n5\r\nab`);
  await once(client, "data");
  const failure = once(client, "end").catch((error: unknown) => error);
  upstream.end();
  expect(await failure).toMatchObject({ code: "ECONNRESET" });
});

test("an answer with a length keeps it, interim answers are left out", async () => {
  const answer = await got(["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"]);
  expect(answer).toBe("HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok");
});
