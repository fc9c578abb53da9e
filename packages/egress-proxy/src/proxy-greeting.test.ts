import { expect, test } from "bun:test";
import type { UpstreamProxy } from "@boxyard/driver";
import { greetingFor } from "./proxy-greeting.ts";

const SOCKS: UpstreamProxy = { protocol: "socks5", host: "proxy.example", port: 1080 };
const HTTP: UpstreamProxy = { ...SOCKS, protocol: "http" };
const SIGNED = { username: "us", password: "pä" };
const NAME = { host: "a.example", port: 443 };
const bytes = (...values: (number | string)[]) =>
  Buffer.concat(values.map((value) => (typeof value === "string" ? Buffer.from(value) : Uint8Array.of(value))));

/** What is said to a proxy that answers so, a byte at a time; the last part is what is left for the server's reader. */
function talk(proxy: UpstreamProxy, destination: typeof NAME, ...answers: Buffer[]): Buffer[] {
  const greeting = greetingFor(proxy, destination);
  const said = [Buffer.from(greeting.first)];
  for (const answer of answers)
    for (const [i, byte] of answer.entries()) {
      const { send, open, rest } = greeting.push(Buffer.of(byte));
      if (send) said.push(Buffer.from(send));
      if (open) return [...said, Buffer.concat([rest ?? Buffer.alloc(0), answer.subarray(i + 1)])];
    }
  return said;
}

test("SOCKS5 gives the name to the proxy, with a password where there is one", () => {
  const open = bytes(5, 0, 0, 1, 0, 0, 0, 0, 0, 0, "hello");
  expect(talk(SOCKS, NAME, bytes(5, 0), open)).toEqual([bytes(5, 1, 0), bytes(5, 1, 0, 3, 9, "a.example", 1, 187), bytes("hello")]);
  expect(talk({ ...SOCKS, ...SIGNED }, { host: "192.0.2.9", port: 22 }, bytes(5, 2), bytes(1, 0), open)).toEqual([
    bytes(5, 2, 0, 2),
    bytes(1, 2, "us", 3, "pä"),
    bytes(5, 1, 0, 1, 192, 0, 2, 9, 0, 22),
    bytes("hello"),
  ]);
  for (const bound of [bytes(3, 4, "name"), bytes(4, "0123456789abcdef")])
    expect(talk(SOCKS, NAME, bytes(5, 0), bytes(5, 0, 0, ...bound, 0, 1, "x")).at(-1)).toEqual(bytes("x"));
});

test("SOCKS5: what a proxy refuses, or must not say, is an error", () => {
  for (const answers of [
    [bytes(4, 0)],
    [bytes(5, 255)],
    [bytes(5, 2)],
    [bytes(5, 0), bytes(5, 5)],
    [bytes(5, 0), bytes(4)],
    [bytes(5, 0), bytes(5, 0, 0, 9, 0)],
  ])
    expect(() => talk(SOCKS, NAME, ...answers)).toThrow("the proxy");
  expect(() => talk({ ...SOCKS, ...SIGNED }, NAME, bytes(5, 2), bytes(1, 1))).toThrow("refused the password");
  // What comes with the method could otherwise be taken for the answer to a request that was not sent yet.
  expect(() => greetingFor(SOCKS, NAME).push(bytes(5, 0, 5, 0, 0, 1, 0, 0, 0, 0, 0, 0))).toThrow("before it was asked");
});

test("CONNECT has the password in its head, and any answer but 2xx is an error", () => {
  const said = talk({ ...HTTP, ...SIGNED }, NAME, bytes("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"));
  const basic = Buffer.from("us:pä").toString("base64");
  const head = `CONNECT a.example:443 HTTP/1.1\r\nHost: a.example:443\r\nProxy-Authorization: Basic ${basic}\r\n\r\n`;
  expect(said.map(String)).toEqual([head, "hello"]);
  expect(String(talk(HTTP, NAME)[0])).not.toContain("Authorization");
  for (const answer of ["HTTP/1.1 407 No\r\n\r\n", "HTTP/1.1 302 Found\r\n\r\n", "SSH-2.0-x\r\n\r\n", "x".repeat(1 << 20)])
    expect(() => talk(HTTP, NAME, bytes(answer))).toThrow();
});
