import { expect, test } from "bun:test";
import { type SandboxId, systemClock } from "@boxyard/core";
import { PortLinks } from "../sandboxes/port-links.ts";
import { TEST_ID, TestFront } from "../testing/front.ts";

const OK = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok";
const NAVIGATION = "Sec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document\r\n";
const HOST = (port: number, id = TEST_ID as string) => `Host: ${port}-${id}.localhost\r\n`;

const links = new PortLinks("seed", systemClock);
const recordOf = (id: SandboxId) => ({ id, settings: {} }) as never;
const inAMinute = () => Math.floor(Date.now() / 1000) + 60;

class LinkedFront extends TestFront {
  constructor() {
    super();
    const linkSeconds = (port: number, token: string) => links.secondsLeft(recordOf(TEST_ID), port, token);
    this.route({ trafficToken: "secret", linkSeconds });
  }

  token(port = this.userPort, id: SandboxId = TEST_ID, expiresAt = inAMinute()): string {
    return links.make(recordOf(id), port, expiresAt);
  }

  /** The answer to one request that says `head` after its first line; `seen` is what the sandbox got. */
  async ask(target: string, head: string): Promise<{ readonly status: number; readonly text: string; readonly seen: string }> {
    const client = await this.client();
    const before = this.upstream.peers.length;
    client.send(`GET ${target} HTTP/1.1\r\n${head}Connection: close\r\n\r\n`);
    const answered = client.isClosed();
    const served = this.upstream.peer(before).then(async (peer) => {
      const seen = await peer.includes("\r\n\r\n");
      peer.send(OK);
      return seen;
    });
    const text = await Promise.race([answered, served.then(() => answered)]);
    const seen = this.upstream.peers.length > before ? await served : "";
    return { status: Number(text.slice(9, 12)), text, seen };
  }
}

test("a program is let in by the token in the query, which the sandbox does not see", async () => {
  await using t = new LinkedFront();
  const { status, seen } = await t.ask(`/a/b?x=1&boxyard_link=${t.token()}&y=2`, HOST(t.userPort));
  expect(status).toBe(200);
  expect(seen).toStartWith("GET /a/b?x=1&y=2 HTTP/1.1\r\n");
  expect(seen).not.toContain("boxyard");
  const byPath = await t.ask(`/ports/${TEST_ID}/${t.userPort}/in?boxyard_link=${t.token()}`, "Host: 127.0.0.1\r\n");
  expect([byPath.status, byPath.seen.split("\r\n")[0]]).toEqual([200, "GET /in HTTP/1.1"]);
});

test("a token of another port, another sandbox or another seed, and one that is over, opens nothing", async () => {
  await using t = new LinkedFront();
  const other = new PortLinks("other", systemClock).make(recordOf(TEST_ID), t.userPort, inAMinute());
  const [time = "", signature = ""] = t.token().split(".");
  const later = `${(Number.parseInt(time, 36) + 1000).toString(36)}.${signature}`;
  const wrong = [
    t.token(t.userPort - 1),
    t.token(t.userPort, "i9999999999999999999a" as SandboxId),
    t.token(t.userPort, TEST_ID, inAMinute() - 61),
    ...[other, later, `${time}.`, time, "", `${time}.${signature}=`, signature],
  ];
  for (const token of wrong) {
    const { status, text, seen } = await t.ask(`/?boxyard_link=${token}`, HOST(t.userPort));
    expect([token, status, seen]).toEqual([token, 403, ""]);
    expect(text).toContain("The link to this port is over, was withdrawn or is not complete");
    const cookie = await t.ask("/", `${HOST(t.userPort)}Cookie: boxyard-link=${token}\r\nSec-Fetch-Site: same-origin\r\n`);
    expect([token, cookie.status]).toEqual([token, 403]);
  }
  expect((await t.ask(`/?boxyard_link=${t.token(49983)}`, t.headers(49983))).seen).not.toContain("boxyard_link=i");
});

test("a browser is led to the page without the token, and its cookie lets the page in", async () => {
  await using t = new LinkedFront();
  const { status, text, seen } = await t.ask(`/a?boxyard_link=${t.token()}`, HOST(t.userPort) + NAVIGATION);
  expect([status, seen]).toEqual([303, ""]);
  expect(text).toContain("\r\nLocation: /a\r\n");
  const [, cookie = ""] = /\r\nSet-Cookie: (boxyard-link=[^;]+); Path=\/; HttpOnly; SameSite=Lax; Max-Age=(?:60|59)\r\n/.exec(text) ?? [];
  const tls = await t.ask(`/a?boxyard_link=${t.token()}`, `${HOST(t.userPort)}X-Forwarded-Proto: https\r\n${NAVIGATION}`);
  expect(tls.text).toMatch(/\r\nSet-Cookie: __Host-boxyard-link=[^;]+; Secure; Path=\/; HttpOnly; SameSite=Lax/);
  const cookies = `Cookie: a=1; ${cookie}; b=2\r\n`;
  const page = await t.ask("/a", `${HOST(t.userPort)}${cookies}Sec-Fetch-Site: cross-site\r\n${NAVIGATION}`);
  expect(page.status).toBe(200);
  expect(page.seen).toContain("\r\nCookie: a=1; b=2\r\n");
  const script = await t.ask("/a.js", `${HOST(t.userPort)}Cookie: ${cookie}\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: no-cors\r\n`);
  expect(script.status).toBe(200);
  expect(script.seen).not.toMatch(/cookie/i);
});

test.each([
  ["a request of another page of the site", "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: no-cors\r\n"],
  [
    "one that may read the answer",
    "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: cors\r\nOrigin: http://80-i00000000000000000000.localhost\r\n",
  ],
  ["a frame in another page", "Sec-Fetch-Site: same-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: iframe\r\n"],
  ["a WebSocket of another page", "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: websocket\r\nUpgrade: websocket\r\n"],
  ["what does not say where it comes from", ""],
])("the cookie does not let in %s", async (_what, head) => {
  await using t = new LinkedFront();
  const { status, seen } = await t.ask("/", `${HOST(t.userPort)}Cookie: boxyard-link=${t.token()}\r\n${head}`);
  expect([status, seen]).toEqual([403, ""]);
});

test("a cookie counts on the host name of its port alone", async () => {
  await using t = new LinkedFront();
  const cookie = `Cookie: boxyard-link=${t.token()}\r\nSec-Fetch-Site: same-origin\r\n`;
  expect((await t.ask("/", t.headers(t.userPort) + cookie)).status).toBe(403);
  expect((await t.ask(`/ports/${TEST_ID}/${t.userPort}/`, `Host: 127.0.0.1\r\n${cookie}`)).status).toBe(403);
});

test("no cookie is set where browsers do not say where requests come from, and nobody is led elsewhere", async () => {
  await using t = new LinkedFront();
  const plain = await t.ask(`/?boxyard_link=${t.token()}`, `Host: ${t.userPort}-${TEST_ID}.boxyard.test\r\n${NAVIGATION}`);
  expect([plain.status, plain.text.includes("Set-Cookie")]).toEqual([200, false]);
  for (const target of ["//evil.test/", "/\\evil.test"]) {
    const away = await t.ask(`${target}?boxyard_link=${t.token()}`, HOST(t.userPort) + NAVIGATION);
    expect([away.status, away.text.includes("Location")]).toEqual([200, false]);
  }
});

test("what a link has open is cut when the links of its port are withdrawn", async () => {
  await using t = new LinkedFront();
  const linked = await t.client();
  linked.send(`GET /?boxyard_link=${t.token()} HTTP/1.1\r\n${HOST(t.userPort)}\r\n`);
  const own = await t.client();
  await (await t.upstream.peer(0)).includes("\r\n\r\n");
  own.send(`GET / HTTP/1.1\r\n${HOST(t.userPort)}E2b-Traffic-Access-Token: secret\r\n\r\n`);
  const peer = await t.upstream.peer(1);
  await peer.includes("\r\n\r\n");
  t.routes.cutLinked(TEST_ID, t.userPort + 1);
  t.routes.cutLinked(TEST_ID, t.userPort);
  expect(await linked.includes("}")).toContain("502");
  peer.send(OK);
  expect(await own.includes("ok")).toContain("200 OK");
});

test("a link wakes a paused sandbox, as the token does", async () => {
  await using t = new LinkedFront();
  const linkSeconds = (port: number, token: string) => links.secondsLeft(recordOf(TEST_ID), port, token);
  t.routes.remove(TEST_ID);
  let woken = 0;
  const wake = async () => {
    woken++;
    t.route({ trafficToken: "secret", linkSeconds });
    return undefined;
  };
  t.routes.addSleeper({ sandboxId: TEST_ID, trafficToken: "secret", accessToken: "token", linkSeconds, wake });
  expect((await t.ask("/?boxyard_link=1.2", HOST(t.userPort))).status).toBe(403);
  expect(woken).toBe(0);
  expect((await t.ask(`/?boxyard_link=${t.token()}`, HOST(t.userPort))).status).toBe(200);
  expect(woken).toBe(1);
});
