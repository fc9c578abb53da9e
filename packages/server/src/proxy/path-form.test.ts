import { expect, test } from "bun:test";
import { TEST_ID, TestFront } from "../testing/front.ts";

const BROWSER = "User-Agent: Mozilla/5.0 (X11; Linux x86_64)\r\n";
const PROGRAM = "User-Agent: python-requests/2.32\r\n";
const SANDBOXED = "Content-Security-Policy: sandbox allow-scripts allow-forms allow-popups allow-modals allow-downloads";

/** One request to the sandbox by its path, and its answer, as both ends get them. */
async function exchange(fields: string, answer: string, path = "/a?b=c") {
  await using t = new TestFront();
  const client = await t.client();
  client.send(`GET /ports/${TEST_ID}/${t.userPort}${path} HTTP/1.1\r\nHost: our.test\r\n${fields}\r\n`);
  const upstream = await t.upstream.peer(0);
  const asked = await upstream.includes("\r\n\r\n");
  upstream.send(`HTTP/1.1 ${answer}Content-Length: 0\r\n\r\n`);
  const answered = await client.includes("\r\n\r\n");
  return { asked: asked.split("\r\n").slice(0, -2), answered: answered.split("\r\n").slice(0, -2) };
}

test("a request by path arrives without the first part of the path, and its answer is a document without an origin", async () => {
  const { asked, answered } = await exchange(
    `${PROGRAM}Cookie: a=b\r\n`,
    "200 OK\r\nContent-Type: text/html\r\nSet-Cookie: a=b; Path=/\r\n",
  );
  expect(asked).toEqual(["GET /a?b=c HTTP/1.1", "Host: our.test", PROGRAM.trim(), "Cookie: a=b"]);
  expect(answered).toEqual(expect.arrayContaining(["HTTP/1.1 200 OK", "Content-Type: text/html", "Set-Cookie: a=b; Path=/", SANDBOXED]));
});

test("a policy of the sandbox's own is added to the proxy's, and a redirect passes unchanged", async () => {
  const own = "Content-Security-Policy: sandbox allow-same-origin";
  const { answered } = await exchange(BROWSER, `302 Found\r\nLocation: /login\r\n${own}\r\n`);
  expect(answered).toEqual(expect.arrayContaining(["HTTP/1.1 302 Found", "Location: /login", own, SANDBOXED]));
});

test("no field passes that a browser stores by host, and no client gets fields for the whole host", async () => {
  const ofTheHost = ['Clear-Site-Data: "*"', "Service-Worker-Allowed: /", "Strict-Transport-Security: max-age=1", 'Alt-Svc: h2=":1"'];
  const ofBrowsers = ["Set-Cookie: a=b; Path=/", "WWW-Authenticate: Basic"];
  const hostile = `401 Unauthorized\r\n${[...ofTheHost, ...ofBrowsers].join("\r\n")}\r\n`;
  for (const browser of [BROWSER, "Sec-Fetch-Site: same-origin\r\n"]) {
    const { asked, answered } = await exchange(`${browser}Cookie: a=b\r\nCookie: c=d\r\n`, hostile);
    expect(asked.filter((line) => /^cookie/i.test(line))).toEqual([]);
    expect(answered.filter((line) => [...ofTheHost, ...ofBrowsers].includes(line))).toEqual([]);
    expect(answered).toContain(SANDBOXED);
  }
  const { answered } = await exchange(PROGRAM, hostile);
  expect(answered.filter((line) => [...ofTheHost, ...ofBrowsers].includes(line))).toEqual(ofBrowsers);
});

test("on a kept connection each way of routing gets its own edit", async () => {
  await using t = new TestFront();
  const client = await t.client();
  const byPath = `GET /ports/${TEST_ID}/${t.userPort}/x HTTP/1.1\r\nHost: our.test\r\n\r\n`;
  const byHeaders = `GET /x HTTP/1.1\r\n${t.headers(t.userPort)}\r\n`;
  for (const [i, request] of [byPath, byHeaders, byPath, byHeaders].entries()) {
    client.clear();
    client.send(request);
    const upstream = await t.upstream.peer(0);
    const asked = await upstream.wait((received) => received.split("\r\n\r\n").length === i + 2);
    expect(asked.split("\r\n\r\n")[i]).toStartWith("GET /x HTTP/1.1\r\n");
    upstream.send("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    expect((await client.includes("\r\n\r\n")).includes(SANDBOXED)).toBe(request === byPath);
  }
});

test("private ports need their token, the agent's internal paths are refused, and a missing slash is added", async () => {
  await using t = new TestFront();
  const status = async (path: string, headers: Record<string, string> = {}) =>
    (await fetch(`${t.url}/ports/${TEST_ID}/${path}`, { headers, redirect: "manual" })).status;
  t.route({ trafficToken: "secret" });
  expect(await status("8080/")).toBe(403);
  expect(await status("8080/", { "e2b-traffic-access-token": "wrong" })).toBe(403);
  for (const path of ["49983/init", "49983//init", "49983/%69nit", "49983/a/../init"]) {
    const client = await t.client();
    client.send(`POST /ports/${TEST_ID}/${path} HTTP/1.1\r\nHost: our.test\r\n\r\n`);
    expect(await client.includes("\r\n\r\n")).toStartWith("HTTP/1.1 404 ");
  }
  const moved = await fetch(`${t.url}/ports/${TEST_ID}/8080?a=b`, { redirect: "manual" });
  expect([moved.status, moved.headers.get("location")]).toEqual([308, `/ports/${TEST_ID}/8080/?a=b`]);
});
