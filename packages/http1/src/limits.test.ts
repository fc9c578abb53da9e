import { expect, test } from "bun:test";
import { ClientConnection } from "./client-connection.ts";
import { FieldNames } from "./fields.ts";
import { MAX_HEAD_BYTES } from "./head.ts";
import { recordAnswer } from "./testing/recorded-answer.ts";
import { inPieces, record } from "./testing/recorded-server.ts";

/* Each limit of a message: a message at the limit is accepted, one beyond it is refused; as a whole and in small pieces. */

const HEAD = "POST / HTTP/1.1\r\nHost: h\r\n";
const filled = (before: string, length: number, after: string) => before + "a".repeat(length - before.length - after.length) + after;
const fields = (count: number) => Array.from({ length: count }, (_, i) => `X-${i}: y\r\n`).join("");
const chunked = (body: string) => `${HEAD}Transfer-Encoding: chunked\r\n\r\n${body}`;

/** Expects that the message at the limit is accepted; returns the status that refuses the message one step beyond it. */
function refusalBeyond(message: (step: number) => string): number | undefined {
  const outcomes = [0, 1].map((step) => {
    const bytes = Buffer.from(message(step), "latin1");
    const whole = record([bytes]);
    for (const size of [1, 7, 1460]) expect(record(inPieces(bytes, size))).toEqual(whole);
    return whole;
  });
  expect([outcomes[0]?.requests.length, outcomes[0]?.refused, outcomes[1]?.requests.length]).toEqual([1, undefined, 0]);
  return outcomes[1]?.refused;
}

test.each<[string, (step: number) => string, number]>([
  ["bytes of a head", (step) => filled(`${HEAD}X: `, MAX_HEAD_BYTES + step, "\r\n\r\n"), 431],
  ["bytes of a target", (step) => filled("GET /", MAX_HEAD_BYTES + step, " HTTP/1.1\r\nHost: h\r\n\r\n"), 431],
  ["fields", (step) => `${HEAD}${fields(255 + step)}\r\n`, 431],
  ["letters of a method", (step) => `${"M".repeat(32 + step)} / HTTP/1.1\r\nHost: h\r\n\r\n`, 400],
  ["digits of a chunk's size", (step) => chunked(`${"1".padStart(12 + step, "0")}\r\na\r\n0\r\n\r\n`), 0],
  ["bytes of a chunk's extension", (step) => chunked(`1;${"e".repeat(4096 + step)}\r\na\r\n0\r\n\r\n`), 0],
  ["blanks before a chunk's extension", (step) => chunked(`1${" ".repeat(4097 + step)};\r\na\r\n0\r\n\r\n`), 0],
  ["empty lines before a request", (step) => `${"\r\n".repeat(4 + step)}${HEAD}\r\n`, 400],
])("%s", (_what, message, status) => expect(refusalBeyond(message)).toBe(status));

test("digits of a length: 15, which a number holds exactly", () => {
  const head = (length: string) => record([Buffer.from(`${HEAD}Content-Length: ${length}\r\n\r\n`)]);
  expect([head("9".repeat(15)).refused, head("9".repeat(16)).refused, head("0".repeat(16)).refused]).toEqual([undefined, 400, 400]);
});

test("bytes of all trailers together", () => {
  const trailers = (bytes: number) => chunked(`0\r\n${"X: y\r\n".repeat(Math.floor(bytes / 6))}\r\n`);
  for (const size of [1, 7, 1 << 20]) {
    expect(record(inPieces(Buffer.from(trailers(12_000)), size))).toMatchObject({ refused: undefined, requests: [{ body: "" }] });
    expect(record(inPieces(Buffer.from(trailers(24_000)), size))).toMatchObject({ refused: 0, requests: [] });
  }
});

test("the same for an answer's head and fields", () => {
  for (const message of [
    (step: number) => filled("HTTP/1.1 204 OK\r\nX: ", MAX_HEAD_BYTES + step, "\r\n\r\n"),
    (step: number) => `HTTP/1.1 204 OK\r\n${fields(256 + step)}\r\n`,
  ]) {
    for (const size of [1, 7, 1 << 20]) {
      const [within, beyond] = [0, 1].map((step) => recordAnswer(inPieces(Buffer.from(message(step)), size), "GET"));
      expect([within?.map(({ status }) => status), beyond]).toEqual([[204], undefined]);
    }
  }
});

test("a head that comes byte by byte has no more time than another one, on a new connection and on a kept one", () => {
  let now = 0;
  const nothing = { onBody() {}, onBodyEnd() {}, onClientDrain() {}, onClientClosed() {} };
  const host = { names: new FieldNames(), now: () => now, exchange: () => nothing, malformed() {}, onClosed() {} };
  const client = new ClientConnection(host);
  const { connection } = client;
  const feed = (text: string) => {
    const deadlines = new Set<number>();
    for (const byte of Buffer.from(text)) {
      now += 100;
      client.onData(Buffer.from([byte]));
      deadlines.add(connection.deadline);
    }
    return [...deadlines];
  };
  const head = "GET / HTTP/1.1\r\nHost: h\r\n\r";
  expect(feed(head)).toEqual([100 + 15_000]);
  expect(feed("\n")).toEqual([Number.POSITIVE_INFINITY]);
  client.endResponse(true);
  const since = now;
  expect(feed(head)).toEqual([since + 100 + 15_000]);
});
