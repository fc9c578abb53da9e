import { expect, test } from "bun:test";
import { TestFront } from "../testing/front.ts";
import { fileSignature } from "./signature.ts";

const signature = fileSignature({ path: "x", operation: "read" as const, user: "user", accessToken: "token" });
const SIGNED = `/files?${new URLSearchParams({ path: "x", username: "user", signature })}`;

/** What a client gets of an answer with these fields, asked for by a signed URL. */
async function got(fields: string, status = "200 OK", method = "GET"): Promise<string[]> {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`${method} ${SIGNED} HTTP/1.1\r\nHost: our.test\r\n\r\n`);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("\r\n\r\n");
  upstream.send(`HTTP/1.1 ${status}\r\n${fields}Content-Length: 0\r\n\r\n`);
  const head = await client.includes("\r\n\r\n");
  return head.split("\r\n").slice(1, -2);
}

const GUARDS = ["X-Content-Type-Options: nosniff", "Content-Security-Policy: sandbox"];

test.each([
  ["text/html", 'attachment; filename="x.html"'],
  ["text/html;charset=utf-8", 'attachment; filename="x.html"'],
  ["TEXT/HTML", 'attachment; filename="x.html"'],
  ["image/svg+xml", 'attachment; filename="x.html"'],
  ["application/xhtml+xml", 'attachment; filename="x.html"'],
  ["text/xml", 'attachment; filename="x.html"'],
  ["text/javascript", 'attachment; filename="x.html"'],
  ["application/pdf", 'attachment; filename="x.html"'],
  ["text/plainly-html", 'attachment; filename="x.html"'],
  ["text/plain", 'inline; filename="x.html"'],
  ["text/plain; charset=utf-8", 'inline; filename="x.html"'],
  ["image/png", 'inline; filename="x.html"'],
  ["video/mp4", 'inline; filename="x.html"'],
])("%s is sent as %s on our own origin", async (type, disposition) => {
  const fields = await got(`Content-Type: ${type}\r\nContent-Disposition: inline; filename="x.html"\r\n`);
  expect(fields).toEqual(expect.arrayContaining([`Content-Type: ${type}`, `Content-Disposition: ${disposition}`, ...GUARDS]));
  expect(fields.filter((line) => /^content-disposition/i.test(line))).toHaveLength(1);
});

test("an answer without a type, with two, or with an unknown disposition is an attachment", async () => {
  for (const fields of [
    "",
    "Content-Type: text/plain\r\nContent-Type: text/html\r\n",
    "Content-Type: text/html\r\nContent-Disposition: show\r\n",
  ]) {
    expect(await got(fields)).toContain("Content-Disposition: attachment");
  }
});

test("no field passes that a browser stores for an origin, or follows", async () => {
  const hostile = [
    "Set-Cookie: a=b",
    "Location: http://evil.test/",
    "Refresh: 0;url=http://evil.test/",
    'Clear-Site-Data: "*"',
    "WWW-Authenticate: Basic",
    "Service-Worker-Allowed: /",
    "Content-Security-Policy: default-src *",
    "Link: </x>; rel=preload",
    "Access-Control-Allow-Credentials: true",
    "Strict-Transport-Security: max-age=1",
    "X-Content-Type-Options: sniff",
  ];
  for (const status of ["200 OK", "302 Found", "401 Unauthorized"]) {
    const fields = await got(`${hostile.join("\r\n")}\r\nContent-Type: text/html\r\nETag: "e"\r\n`, status);
    expect(fields.filter((line) => hostile.includes(line))).toEqual([]);
    expect(fields).toEqual(expect.arrayContaining(['ETag: "e"', "Content-Disposition: attachment", ...GUARDS]));
  }
});

test("a request with routing headers gets the sandbox's answer unchanged, also on the same connection", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b\r\nContent-Length: 0\r\n\r\n";
  for (const [i, isSigned] of [true, false, true, false].entries()) {
    client.clear();
    client.send(isSigned ? `GET ${SIGNED} HTTP/1.1\r\nHost: our.test\r\n\r\n` : `GET /x HTTP/1.1\r\n${t.headers()}\r\n`);
    const upstream = await t.upstream.peer(0);
    await upstream.wait((received) => received.split("\r\n\r\n").length === i + 2);
    upstream.send(answer);
    expect((await client.includes("\r\n\r\n")).includes("Set-Cookie: a=b")).toBe(!isSigned);
  }
});

test("the sandbox gets no credentials that a browser stores for the API's origin, and no key of the API", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(
    `GET ${SIGNED} HTTP/1.1\r\nHost: our.test\r\nCookie: dashboard=1\r\nAUTHORIZATION: Basic x\r\nX-API-Key: k\r\nRange: bytes=0-1\r\n\r\n`,
  );
  const upstream = await t.upstream.peer(0);
  const got = await upstream.includes("\r\n\r\n");
  expect(got).toContain("Range: bytes=0-1");
  expect(got).not.toMatch(/cookie|authorization|x-api-key/i);
});

test("an answer that has no body has no Content-Length", async () => {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET / HTTP/1.1\r\n${t.headers()}\r\n`);
  const upstream = await t.upstream.peer(0);
  await upstream.includes("\r\n\r\n");
  upstream.send("HTTP/1.1 103 Early Hints\r\nContent-Length: 5\r\nLink: </a>\r\n\r\n");
  upstream.send("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\nX: y\r\n\r\n");
  const got = await client.includes("X: y\r\n\r\n");
  expect(got).toContain("103 Early Hints\r\nLink: </a>\r\n\r\n");
  expect(got).not.toMatch(/content-length/i);
});
