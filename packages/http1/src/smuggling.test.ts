import { describe, expect, test } from "bun:test";
import { HeadError, parseRequestHead, parseResponseHead } from "./head.ts";
import { inPieces, record } from "./testing/recorded-server.ts";
import { forwardedRequest, forwardedResponse } from "./write-head.ts";

/*
 * Request smuggling (RFC 9112, 11.2) needs two parsers that find different ends of one message. Each test names one known way; each message must be
 * refused, and no bytes after it may be parsed as a request. Also in pieces of one byte: the borders of packets must not change the result.
 */

const EVIL = "GET /evil HTTP/1.1\r\nHost: h\r\n\r\n";
const post = (fields: string, body = "") => `POST / HTTP/1.1\r\nHost: h\r\n${fields}\r\n${body}${EVIL}`;
const chunked = (body: string) => post("Transfer-Encoding: chunked\r\n", body);

function refusals(message: string): (number | undefined)[] {
  const bytes = Buffer.from(message, "latin1");
  return [bytes.byteLength, 1].map((size) => {
    const { requests, refused, isOpen } = record(inPieces(bytes, size));
    expect(requests.map(({ target }) => target)).toEqual([]);
    expect(isOpen).toBe(false);
    return refused;
  });
}

describe("two lengths", () => {
  test.each<[string, string, number]>([
    ["CL.TE", post("Content-Length: 6\r\nTransfer-Encoding: chunked\r\n", "0\r\n\r\n"), 400],
    ["TE.CL", post("Transfer-Encoding: chunked\r\nContent-Length: 4\r\n", "5c\r\n"), 400],
    ["CL.0: a length of nothing beside a coding", post("Content-Length: 0\r\nTransfer-Encoding: chunked\r\n"), 400],
    ["CL.CL: two that differ", post("Content-Length: 5\r\nContent-Length: 0\r\n", "abcde"), 400],
    ["two that agree", post("Content-Length: 5\r\nContent-Length: 5\r\n", "abcde"), 400],
    ["a list of two", post("Content-Length: 5, 5\r\n", "abcde"), 400],
    ["a coding in HTTP/1.0", `POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n${EVIL}`, 400],
  ])("%s", (_name, message, status) => expect(refusals(message)).toEqual([status, status]));
});

describe("a length that parsers read differently", () => {
  test.each(["+5", "-5", "5 5", "0x5", "5_0", "5.0", "5e0", "", " ", "５", "5\x0b", "5;", "1".repeat(20), "NaN", "\x005"])(
    "%j",
    (value) => {
      expect(refusals(post(`Content-Length: ${Buffer.from(value).toString("latin1")}\r\n`, "abcde"))).toEqual([400, 400]);
    },
  );
});

describe("TE.TE: a coding that one of two parsers overlooks", () => {
  test.each<[string, string, number]>([
    ["another coding", "Transfer-Encoding: xchunked", 501],
    ["identity", "Transfer-Encoding: identity", 501],
    ["chunked, identity", "Transfer-Encoding: chunked, identity", 501],
    ["identity, chunked", "Transfer-Encoding: identity, chunked", 501],
    ["chunked twice", "Transfer-Encoding: chunked, chunked", 501],
    ["gzip, chunked", "Transfer-Encoding: gzip, chunked", 501],
    ["two fields", "Transfer-Encoding: chunked\r\nTransfer-Encoding: x", 501],
    ["two fields, the other way", "Transfer-Encoding: x\r\nTransfer-Encoding: chunked", 501],
    ["quoted", 'Transfer-Encoding: "chunked"', 501],
    ["with a parameter", "Transfer-Encoding: chunked;a=b", 501],
    ["with a comma behind", "Transfer-Encoding: chunked,", 501],
    ["with nothing", "Transfer-Encoding:", 501],
    ["a no-break space", "Transfer-Encoding: \xa0chunked", 501],
    ["a vertical tab", "Transfer-Encoding:\x0bchunked", 400],
    ["a form feed", "Transfer-Encoding: chunked\x0c", 400],
    ["a NUL", "Transfer-Encoding: chunked\x00", 400],
    ["a blank before the colon", "Transfer-Encoding : chunked", 400],
    ["a tab before the colon", "Transfer-Encoding\t: chunked", 400],
    ["a blank before the name", " Transfer-Encoding: chunked", 400],
    ["a folded line", "Transfer-Encoding:\r\n chunked", 400],
    ["a folded line after it", "Transfer-Encoding: chunked\r\n , x", 400],
    ["behind a bare LF", "X: y\nTransfer-Encoding: chunked", 400],
    ["behind a bare CR", "X: y\rTransfer-Encoding: chunked", 400],
    ["a bare CR behind it", "Transfer-Encoding: chunked\r", 400],
    ["a name with NUL", "Transfer-\x00Encoding: chunked", 400],
    ["a name that is empty", ": chunked", 400],
    ["no colon", "Transfer-Encoding chunked", 400],
  ])("%s", (_name, field, status) => {
    // A coding together with a length is refused before the coding itself is checked.
    expect(refusals(post(`${field}\r\nContent-Length: 5\r\n`, "0\r\n\r\n"))).toEqual([400, 400]);
    expect(refusals(post(`${field}\r\n`, "0\r\n\r\n"))).toEqual([status, status]);
  });
});

describe("chunks whose end parsers find in different places", () => {
  test.each<[string, string]>([
    ["a size that ends in a bare LF", "1\na\r\n0\r\n\r\n"],
    ["a size that ends in a bare CR", "1\ra\r\n0\r\n\r\n"],
    ["TERM.EXT: an extension that ends in a bare LF", "1;x\na\r\n0\r\n\r\n"],
    ["EXT.TERM: an extension with a bare CR", "1;x\ry\r\na\r\n0\r\n\r\n"],
    ["data that ends in a bare LF", "1\r\na\n0\r\n\r\n"],
    ["data that ends in nothing", "1\r\na0\r\n\r\n"],
    ["data longer than its size", "1\r\nab\r\n0\r\n\r\n"],
    ["two bytes of anything instead of the data's CR LF", "1\r\naXX0\r\n\r\n"],
    ["a size with 0x", "0x1\r\na\r\n0\r\n\r\n"],
    ["a size with a sign", "+1\r\na\r\n0\r\n\r\n"],
    ["a negative size", "-1\r\na\r\n0\r\n\r\n"],
    ["a size with an underscore", "1_0\r\na\r\n0\r\n\r\n"],
    ["a blank before the size", " 1\r\na\r\n0\r\n\r\n"],
    ["a blank behind the size", "1 \r\na\r\n0\r\n\r\n"],
    ["a word behind the size", "1 a\r\na\r\n0\r\n\r\n"],
    ["no size", "\r\na\r\n0\r\n\r\n"],
    ["an extension without a size", ";x\r\na\r\n0\r\n\r\n"],
    ["a size beyond 64 bits", "10000000000000001\r\na\r\n0\r\n\r\n"],
    ["a size that a 32-bit reader wraps", `${"0".repeat(8)}100000001\r\na\r\n0\r\n\r\n`],
    ["a last chunk whose line ends in a bare LF", "0\n\r\n"],
    ["an end of a bare LF", "0\r\n\n"],
    ["a trailer that ends in a bare LF", "0\r\nX: y\n\r\n"],
    ["a trailer with a bare CR", "0\r\nX: y\rZ\r\n\r\n"],
    ["a NUL in an extension", "1;\x00\r\na\r\n0\r\n\r\n"],
  ])("%s", (_name, body) => {
    // In the middle of a body no status can be sent: the connection ends.
    expect(refusals(chunked(body))).toEqual([0, 0]);
  });

  test("a trailer that names a length or a host changes nothing", () => {
    const { requests, refused } = record([Buffer.from(chunked("1\r\na\r\n0\r\nContent-Length: 999\r\nHost: evil\r\n\r\n"))]);
    expect([refused, requests.map(({ host, target, body }) => [host, target, body])]).toEqual([
      undefined,
      [
        ["h", "/", "a"],
        ["h", "/evil", ""],
      ],
    ]);
  });
});

describe("a first line or a host that parsers read differently", () => {
  test.each<[string, string]>([
    ["HTTP/0.9", `GET /\r\n${EVIL}`],
    ["HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"],
    ["a version with two digits", `GET / HTTP/1.10\r\nHost: h\r\n\r\n${EVIL}`],
    ["a version in lower case", `GET / http/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["two blanks", `GET  / HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["a tab", `GET\t/ HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["a blank at the end", `GET / HTTP/1.1 \r\nHost: h\r\n\r\n${EVIL}`],
    ["a blank in the target", `GET /a b HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["a bare CR in the line", `GET / HTTP/1.1\rX\r\nHost: h\r\n\r\n${EVIL}`],
    ["a line that ends in a bare LF", `GET / HTTP/1.1\nHost: h\n\n${EVIL}`],
    ["a field before the line", `X: y\r\nGET / HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["a blank line of another kind before it", `\n\nGET / HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["a fragment alone", `GET #x HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["CONNECT", `CONNECT h:1 HTTP/1.1\r\nHost: h\r\n\r\n${EVIL}`],
    ["no host", `GET / HTTP/1.1\r\n\r\n${EVIL}`],
    ["two hosts", `GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n${EVIL}`],
    ["two hosts that agree", `GET / HTTP/1.1\r\nHost: a\r\nHost: a\r\n\r\n${EVIL}`],
    ["a host with a path", `GET / HTTP/1.1\r\nHost: a/b\r\n\r\n${EVIL}`],
    ["a host with a user", `GET / HTTP/1.1\r\nHost: u@a\r\n\r\n${EVIL}`],
    ["a list of hosts", `GET / HTTP/1.1\r\nHost: a b\r\n\r\n${EVIL}`],
  ])("%s", (_name, message) => expect(refusals(message)).toEqual([400, 400]));

  test("the host of an absolute target overrides Host, and is the only accepted second host", () => {
    const { requests } = record([Buffer.from("GET http://a/x HTTP/1.1\r\nHost: b\r\n\r\n")]);
    expect(requests.map(({ host, target }) => [host, target])).toEqual([["a", "/x"]]);
  });
});

describe("a request that another may follow", () => {
  test("the body of a GET is its body, and not the next request", () => {
    const { requests } = record([Buffer.from(`GET / HTTP/1.1\r\nHost: h\r\nContent-Length: ${EVIL.length}\r\n\r\n${EVIL}`)]);
    expect(requests.map(({ target, body }) => [target, body])).toEqual([["/", EVIL]]);
  });

  test.each<[string, string]>([
    ["100-continue", "100-continue"],
    ["another expectation", "y 100-continue"],
    ["an empty value", ""],
  ])("Expect with %s: the body is not the next request, whether the client waits or not", (_name, value) => {
    const message = `POST / HTTP/1.1\r\nHost: h\r\nExpect: ${value}\r\nContent-Length: ${EVIL.length}\r\n\r\n${EVIL}`;
    for (const size of [message.length, 1]) {
      const { requests } = record(inPieces(Buffer.from(message), size));
      expect(requests.map(({ target, body }) => [target, body])).toEqual([["/", EVIL]]);
    }
  });

  test.each<[string, string, string]>([
    ["CL.0", `Content-Length: ${EVIL.length}`, EVIL],
    ["TE.0", "Transfer-Encoding: chunked", `${EVIL.length.toString(16)}\r\n${EVIL}\r\n0\r\n\r\n`],
  ])("%s: the body of a request that was answered early is not the next request", (_name, field, body) => {
    const message = `POST /1 HTTP/1.1\r\nHost: h\r\n${field}\r\n\r\n${body}GET /2 HTTP/1.1\r\nHost: h\r\n\r\n`;
    for (const size of [message.length, 1]) {
      const { requests, refused, isOpen } = record(inPieces(Buffer.from(message), size), { early: true });
      expect([requests.map(({ target }) => target), refused, isOpen]).toEqual([["/1", "/2"], undefined, true]);
    }
  });

  test("nothing follows one that ends the connection", () => {
    for (const fields of ["Connection: close\r\n", "Connection: x, Close\r\n"]) {
      const { requests, isOpen } = record([Buffer.from(`GET /1 HTTP/1.1\r\nHost: h\r\n${fields}\r\n${EVIL}`)]);
      expect([requests.map(({ target }) => target), isOpen]).toEqual([["/1"], false]);
    }
  });
});

describe("Connection cannot remove the fields that frame a message or name its host", () => {
  const NAMED = ["Content-Length", "content-length, close", "Transfer-Encoding", "Host", "keep-alive, Host, Content-Length"];

  test.each(NAMED)("Connection: %s in a request", (named) => {
    for (const framing of ["Content-Length: 5", "Transfer-Encoding: chunked"]) {
      const head = parseRequestHead(`POST / HTTP/1.1\r\nHost: h\r\n${framing}\r\nConnection: ${named}`);
      const text = Buffer.from(forwardedRequest(head)).toString("latin1");
      const next = parseRequestHead(text.slice(0, -4));
      expect([next.framing, next.host, next.fields.all("connection")]).toEqual([head.framing, "h", []]);
    }
  });

  test.each(NAMED)("Connection: %s in an answer", (named) => {
    for (const framing of ["Content-Length: 5", "Transfer-Encoding: chunked"]) {
      const head = parseResponseHead(`HTTP/1.1 200 OK\r\n${framing}\r\nConnection: ${named}`, "GET");
      const text = Buffer.from(forwardedResponse(head)).toString("latin1");
      expect(parseResponseHead(text.slice(0, -4), "GET").framing).toEqual(head.framing);
    }
  });

  test("a coding in an unusual spelling is forwarded in the usual one", () => {
    const head = parseRequestHead("POST / HTTP/1.1\r\nHost: h\r\ntransfer-encoding:\tCHUNKED \t");
    expect(Buffer.from(forwardedRequest(head)).toString("latin1")).toBe("POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n");
  });
});

describe("response splitting: an answer whose end parsers find in different places", () => {
  test.each<[string, string]>([
    ["both lengths", "Content-Length: 1\r\nTransfer-Encoding: chunked"],
    ["two lengths", "Content-Length: 1\r\nContent-Length: 2"],
    ["a list of lengths", "Content-Length: 1, 1"],
    ["another coding", "Transfer-Encoding: gzip"],
    ["two codings", "Transfer-Encoding: gzip, chunked"],
    ["a bare LF", "X: y\nContent-Length: 0"],
    ["a bare CR", "X: y\rContent-Length: 0"],
    ["a folded line", "X: y\r\n Content-Length: 0"],
    ["a blank before the colon", "Content-Length : 0"],
    ["a NUL", "X: \x00"],
  ])("%s", (_name, fields) => expect(() => parseResponseHead(`HTTP/1.1 200 OK\r\n${fields}`, "GET")).toThrow(HeadError));

  test("answers to HEAD and of statuses without a body have none, whatever their fields", () => {
    for (const [method, status] of [
      ["HEAD", 200],
      ["GET", 204],
      ["GET", 304],
      ["GET", 103],
    ] as const) {
      expect(parseResponseHead(`HTTP/1.1 ${status} X\r\nContent-Length: 5`, method).framing).toEqual({ kind: "none" });
      expect(parseResponseHead(`HTTP/1.1 ${status} X\r\nTransfer-Encoding: chunked`, method).framing).toEqual({ kind: "none" });
    }
  });
});
