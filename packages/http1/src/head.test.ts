import { describe, expect, test } from "bun:test";
import { isLinear } from "@boxyard/testkit";
import { endOfHead, HeadError, parseRequestHead, parseResponseHead } from "./head.ts";

const request = (...lines: string[]) => parseRequestHead(lines.join("\r\n"));
const response = (method: string, ...lines: string[]) => parseResponseHead(lines.join("\r\n"), method);

describe("request heads", () => {
  test("are parsed without changing the target or the fields", () => {
    const head = request("POST /a/../b%2Fc?x=1 HTTP/1.1", "Host: h:1", "X_y: a: b ", "Content-Length: 3");
    expect(head).toMatchObject({
      method: "POST",
      target: "/a/../b%2Fc?x=1",
      host: "h:1",
      keepAlive: true,
      framing: { kind: "length", length: 3 },
    });
    expect(head.fields.get("x_y")).toBe("a: b");
  });

  test("may have an absolute target", () => {
    expect(request("GET http://other.example/p?q HTTP/1.1", "Host: h")).toMatchObject({ target: "/p?q", host: "other.example" });
    expect(request("GET http://other.example HTTP/1.1", "Host: h").target).toBe("/");
  });

  test("ask for an upgrade only with both headers", () => {
    expect(request("GET / HTTP/1.1", "Host: h", "Connection: keep-alive, Upgrade", "Upgrade: websocket").upgrade).toBe("websocket");
    expect(request("GET / HTTP/1.1", "Host: h", "Upgrade: websocket").upgrade).toBeUndefined();
  });

  test.each([
    ["no version", ["GET /"], 400],
    ["HTTP/2", ["GET / HTTP/2.0", "Host: h"], 400],
    ["a blank in the target", ["GET /a b HTTP/1.1", "Host: h"], 400],
    ["a bad method", ["G(T / HTTP/1.1", "Host: h"], 400],
    ["CONNECT", ["CONNECT h:1 HTTP/1.1", "Host: h"], 400],
    ["no Host", ["GET / HTTP/1.1"], 400],
    ["two Hosts", ["GET / HTTP/1.1", "Host: a", "Host: b"], 400],
    ["an invalid port", ["GET / HTTP/1.1", "Host: h:99999"], 400],
    ["a path in Host", ["GET / HTTP/1.1", "Host: h/x"], 400],
    ["a user in Host", ["GET / HTTP/1.1", "Host: u@h"], 400],
    ["a blank in Host", ["GET / HTTP/1.1", "Host: h x"], 400],
    ["an invalid port in the target", ["GET http://h:99999/ HTTP/1.1", "Host: h"], 400],
    ["an invalid Host beside the host of its target", ["GET http://h/ HTTP/1.1", "Host: h/x"], 400],
    ["a folded line", ["GET / HTTP/1.1", "Host: h", " folded"], 400],
    ["a blank before the colon", ["GET / HTTP/1.1", "Host : h"], 400],
    ["a bare LF", ["GET / HTTP/1.1", "Host: h\nX: y"], 400],
    ["a bare CR", ["GET / HTTP/1.1", "Host: h\rX: y"], 400],
    ["a NUL", ["GET / HTTP/1.1", "Host: h", "X: a\0b"], 400],
    ["both framings", ["POST / HTTP/1.1", "Host: h", "Content-Length: 3", "Transfer-Encoding: chunked"], 400],
    ["two lengths", ["POST / HTTP/1.1", "Host: h", "Content-Length: 3", "Content-Length: 3"], 400],
    ["a list of lengths", ["POST / HTTP/1.1", "Host: h", "Content-Length: 3, 3"], 400],
    ["a signed length", ["POST / HTTP/1.1", "Host: h", "Content-Length: +3"], 400],
    ["another coding", ["POST / HTTP/1.1", "Host: h", "Transfer-Encoding: gzip, chunked"], 501],
    ["two codings", ["POST / HTTP/1.1", "Host: h", "Transfer-Encoding: chunked", "Transfer-Encoding: chunked"], 501],
    ["a disguised coding", ["POST / HTTP/1.1", "Host: h", "Transfer-Encoding: xchunked"], 501],
    ["chunks in HTTP/1.0", ["POST / HTTP/1.0", "Transfer-Encoding: chunked"], 400],
    ["too many fields", ["GET / HTTP/1.1", "Host: h", ...Array.from({ length: 300 }, (_, i) => `X-${i}: y`)], 431],
  ])("are refused with %s", (_what, lines, status) => {
    let error: unknown;
    try {
      request(...lines);
    } catch (e) {
      error = e;
    }
    expect(error).toBeInstanceOf(HeadError);
    expect((error as HeadError).status).toBe(status);
  });
});

describe("response heads", () => {
  test.each([
    ["GET", ["HTTP/1.1 200 OK", "Content-Length: 5"], { kind: "length", length: 5 }, true],
    ["GET", ["HTTP/1.1 200 OK", "Content-Length: 0"], { kind: "none" }, true],
    ["GET", ["HTTP/1.1 200", "Transfer-Encoding: Chunked"], { kind: "chunked" }, true],
    ["GET", ["HTTP/1.1 200 OK"], { kind: "close" }, false],
    ["GET", ["HTTP/1.0 200 OK", "Content-Length: 5"], { kind: "length", length: 5 }, false],
    ["GET", ["HTTP/1.1 200 OK", "Content-Length: 5", "Connection: close"], { kind: "length", length: 5 }, false],
    ["HEAD", ["HTTP/1.1 200 OK", "Content-Length: 5"], { kind: "none" }, true],
    ["GET", ["HTTP/1.1 204 No Content"], { kind: "none" }, true],
    ["GET", ["HTTP/1.1 304 Not Modified", "Content-Length: 5"], { kind: "none" }, true],
  ])("of %s %p: framing and keep-alive", (method, lines, framing, keepAlive) => {
    const head = response(method, ...lines);
    expect(head.framing).toEqual(framing as typeof head.framing);
    expect(head.keepAlive).toBe(keepAlive);
  });

  test.each([
    ["junk", ["hello"]],
    ["a bad status", ["HTTP/1.1 2000 OK"]],
    ["a reason with control characters", ["HTTP/1.1 200 O\u0001K"]],
    ["both framings", ["HTTP/1.1 200 OK", "Content-Length: 5", "Transfer-Encoding: chunked"]],
    ["two lengths", ["HTTP/1.1 200 OK", "Content-Length: 5", "Content-Length: 6"]],
    ["another coding", ["HTTP/1.1 200 OK", "Transfer-Encoding: gzip"]],
    ["a bare LF in a field", ["HTTP/1.1 200 OK", "X: a\nSet-Cookie: b"]],
  ])("are refused with %s", (_what, lines) => {
    expect(() => response("GET", ...lines)).toThrow(HeadError);
  });
});

test.each([" ", "\t", "a", "a ", ",", "\u00a0"])(
  "heads of up to 60,000 repeated '%s' are parsed in time proportional to their length",
  async (filler) => {
    const parse = (length: number) => {
      const value = filler.repeat(length / filler.length);
      for (const end of ["", "\u0001", "b"]) {
        try {
          request("GET / HTTP/1.1", "Host: h", `X: ${value}${end}`, `Connection: ${value}${end}`);
        } catch (error) {
          expect(error).toBeInstanceOf(HeadError);
        }
      }
    };
    expect(await isLinear(parse, 7_500)).toBe(true);
  },
);

test("only blanks and tabs are removed around a value", () => {
  expect(() => request("POST / HTTP/1.1", "Host: h", "Content-Length: 5\u00a0")).toThrow(HeadError);
  expect(request("GET / HTTP/1.1", "Host: h", "X: \t a\u00a0 \t").fields.get("x")).toBe("a\u00a0");
});

test("the end of a head is found across chunks", () => {
  const bytes = Buffer.from("GET / HTTP/1.1\r\n\r\nbody");
  expect(endOfHead(bytes, 0)).toBe(18);
  expect(endOfHead(bytes, 17)).toBe(18);
  expect(endOfHead(Buffer.from("GET / HTTP/1.1\r\n"), 0)).toBe(-1);
});
