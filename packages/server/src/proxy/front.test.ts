import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { randomBytes } from "node:crypto";
import { RawServer } from "../testing/raw.ts";
import { TestServer } from "../testing/test-server.ts";
import { fileSignature } from "./signature.ts";

let s: TestServer;
let sandboxID: string;
let token: string;
beforeAll(async () => {
  s = await TestServer.start();
  ({ sandboxID, envdAccessToken: token } = await s.create());
});
afterAll(() => s[Symbol.asyncDispose]());

const routed = (port = 49983): Record<string, string> => ({ "E2b-Sandbox-Id": sandboxID, "E2b-Sandbox-Port": String(port) });
const address = () => s.world.sandboxes.get(sandboxID)?.agent?.host ?? "";

describe("routing", () => {
  test("reaches the agent by headers and by host name", async () => {
    const byHeaders = await fetch(`${s.url}/a%2Fb?c`, { headers: routed() });
    expect(await byHeaders.json()).toMatchObject({ path: "/a%2Fb?c", method: "GET" });
    const byHost = await fetch(`${s.url}/x`, { headers: { Host: `49983-${sandboxID}.localhost:${s.port}` } });
    expect(await byHost.json()).toMatchObject({ path: "/x", headers: { host: `49983-${sandboxID}.localhost:${s.port}` } });
  });

  test("reaches any port of the sandbox; a port on which nothing listens is a 502", async () => {
    const app = Bun.serve({ hostname: address(), port: 8123, fetch: (request) => new Response(`app ${request.headers.get("host")}`) });
    try {
      expect(await (await fetch(s.url, { headers: routed(8123) })).text()).toBe(`app 127.0.0.1:${s.port}`);
    } finally {
      await app.stop(true);
    }
    const closed = await fetch(s.url, { headers: routed(8123) });
    expect([closed.status, closed.headers.get("content-type"), await closed.json()]).toEqual([
      502,
      "application/json; charset=utf-8",
      { sandboxID, sandboxId: sandboxID, message: "The sandbox is running but port is not open", port: 8123, code: 502 },
    ]);
  });

  test("with one of the two headers is 400 in plain text", async () => {
    const reply = await fetch(s.url, { headers: { "Svc-Sandbox-Id": sandboxID } });
    expect([reply.status, reply.headers.get("content-type"), await reply.text()]).toEqual([
      400,
      "text/plain; charset=utf-8",
      "missing header\n",
    ]);
  });

  test("refuses the agent's internal paths, but passes freeze and unfreeze", async () => {
    for (const path of ["/init", "/%69nit", "/upgrade", "/collapse", "/fsfreeze", "/fsthaw"]) {
      const reply = await fetch(s.url + path, { method: "POST", headers: routed() });
      expect([path, reply.status, await reply.json()]).toEqual([
        path,
        404,
        { message: "This path belongs to the server and cannot be reached through the sandbox's address", path, code: 404 },
      ]);
    }
    expect((await fetch(`${s.url}/freeze`, { method: "POST", headers: routed() })).status).toBe(204);
    expect((await fetch(`${s.url}/unfreeze`, { method: "POST", headers: routed() })).status).toBe(204);
  });

  test("shows a page to a person's browser", async () => {
    const browser = { "User-Agent": "Mozilla/5.0", Accept: "text/html,*/*" };
    const page = await fetch(s.url, { headers: { ...routed(1), ...browser, "Sec-Fetch-Mode": "navigate" } });
    const text = await page.text();
    expect([page.status, page.headers.get("content-type")]).toEqual([502, "text/html; charset=utf-8"]);
    expect(text).toStartWith("<html");
    expect(text).toContain("<h1>No service on port 1</h1>");
    expect(page.headers.get("content-security-policy")).toContain("default-src 'none'");
    expect(text).toEndWith("</html>");
    for (const more of [
      { Accept: "application/json" },
      { "Sec-Fetch-Mode": "cors" },
      { "X-Requested-With": "x" },
      { "User-Agent": "curl" },
    ]) {
      const reply = await fetch(s.url, { headers: { ...routed(1), ...browser, ...more } });
      expect([more, reply.headers.get("content-type")]).toEqual([more, "application/json; charset=utf-8"]);
    }
  });
});

test("a page says what is missing", async () => {
  const browser = { "User-Agent": "Mozilla/5.0", Accept: "text/html,*/*", "Sec-Fetch-Mode": "navigate" };
  const ask = async (id: string, more: Record<string, string> = {}) => {
    const reply = await fetch(s.url, { headers: { ...browser, "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "8080", ...more } });
    return [reply.status, /<h1>(.*)<\/h1>/.exec(await reply.text())?.[1]];
  };
  const closed = await s.create({ network: { allowPublicTraffic: false } });
  expect(await ask("i00000000000000000000")).toEqual([502, "Sandbox not found"]);
  expect(await ask(closed.sandboxID)).toEqual([403, "Traffic token missing"]);
  expect(await ask(closed.sandboxID, { "E2b-Traffic-Access-Token": "x" })).toEqual([403, "Traffic token invalid"]);
  expect(await ask(sandboxID)).toEqual([502, "No service on port 8080"]);
  await s.call("DELETE", `/sandboxes/${closed.sandboxID}`);
});

describe("signed file URLs that name no sandbox", () => {
  const sign = (operation: "read" | "write", more: Record<string, string> = {}) => {
    const query = { path: "a b+c.txt", username: "user", ...more };
    const signature = fileSignature({
      path: query.path,
      operation,
      user: query.username,
      accessToken: token,
      expiration: more.signature_expiration,
    });
    return `/files?${new URLSearchParams({ ...query, signature })}`;
  };

  test("find the sandbox whose token made the signature", async () => {
    const other = await s.create();
    const read = await fetch(s.url + sign("read"));
    expect(await read.json()).toMatchObject({ method: "GET", path: sign("read") });
    const write = await fetch(s.url + sign("write", { signature_expiration: "1" }), { method: "POST", body: "x" });
    expect(await write.json()).toMatchObject({ method: "POST", body: "x" });
    await s.call("DELETE", `/sandboxes/${other.sandboxID}`);
  });

  test("are 401 when no sandbox fits", async () => {
    for (const [method, url] of [
      ["POST", sign("read")],
      ["GET", sign("write")],
      ["GET", `${sign("read")}&path=x`.replace("path=a", "path=b")],
      ["PUT", sign("write")],
    ] as const) {
      const reply = await fetch(s.url + url, { method });
      expect([reply.status, await reply.json()]).toEqual([401, { code: 401, message: "invalid signature" }]);
    }
  });

  test("are made as the contract's example", () => {
    const example = { path: "hello.txt", operation: "read" as const, user: "user", accessToken: "0tQG31xiMp0IOQfaz9dcwi72L1CPo8e0" };
    expect(fileSignature(example)).toBe("v1_gUtH/s9YCJWgCizjfUxuWfhFE4QSydOWEIIvfLwDr6E");
  });
});

describe("WebSockets", () => {
  const open = (path: string, protocols: string[] = []) =>
    new Promise<WebSocket>((resolve, reject) => {
      const socket = new WebSocket(`ws://127.0.0.1:${s.port}${path}`, { headers: routed(), protocols } as never);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => resolve(socket);
      socket.onerror = reject;
    });
  const next = (socket: WebSocket) => new Promise<unknown>((resolve) => (socket.onmessage = (event) => resolve(event.data)));

  test("carry text, binary, subprotocol and close code", async () => {
    const socket = await open("/ws", ["chat", "other"]);
    expect(socket.protocol).toBe("chat");
    socket.send("hällo");
    expect(await next(socket)).toBe("hällo");
    const bytes = randomBytes(300_000);
    socket.send(bytes);
    expect(Buffer.from((await next(socket)) as ArrayBuffer).equals(bytes)).toBe(true);
    const closed = new Promise<CloseEvent>((resolve) => (socket.onclose = resolve));
    socket.close(4001, "done");
    expect((await closed).code).toBe(4001);
  });

  test("end with the sandbox", async () => {
    const made = await s.create();
    const socket = new WebSocket(`ws://127.0.0.1:${s.port}/ws`, {
      headers: { "Svc-Sandbox-Id": made.sandboxID, "Svc-Sandbox-Port": "49983" },
    } as never);
    await new Promise((resolve) => (socket.onopen = resolve));
    const closed = new Promise<CloseEvent>((resolve) => (socket.onclose = resolve));
    await s.call("DELETE", `/sandboxes/${made.sandboxID}`);
    expect((await closed).code).toBe(1006);
  });
});

describe("bodies", () => {
  test("of any size pass unchanged in both directions", async () => {
    const bytes = randomBytes(20 << 20);
    const reply = await fetch(`${s.url}/echo`, { method: "POST", headers: routed(), body: bytes });
    expect(Buffer.from(await reply.arrayBuffer()).equals(bytes)).toBe(true);
  });

  test("are not buffered: a reader that stops stops the sender", async () => {
    const total = 64 << 20;
    let produced = 0;
    const app = Bun.serve({
      hostname: address(),
      port: 8124,
      fetch: () =>
        new Response(
          new ReadableStream({
            pull(controller) {
              produced += 64 << 10;
              if (produced > total) controller.close();
              else controller.enqueue(new Uint8Array(64 << 10));
            },
          }),
        ),
    });
    const before = process.memoryUsage().rss;
    const slow = await Bun.connect({ hostname: "127.0.0.1", port: s.port, socket: { data() {}, open: (socket) => void socket.pause() } });
    slow.write(`GET / HTTP/1.1\r\nHost: x\r\nSvc-Sandbox-Id: ${sandboxID}\r\nSvc-Sandbox-Port: 8124\r\n\r\n`);
    // Time alone: as long as a proxy that does not wait for its client would need for all of it.
    await Bun.sleep(500);
    expect(process.memoryUsage().rss - before).toBeLessThan(48 << 20);
    expect(produced).toBeLessThan(total);
    slow.terminate();
    await app.stop(true);

    const deaf = new RawServer(address(), 8125);
    const eager = await Bun.connect({ hostname: "127.0.0.1", port: s.port, socket: { data() {} } });
    eager.write(
      `POST / HTTP/1.1\r\nHost: x\r\nSvc-Sandbox-Id: ${sandboxID}\r\nSvc-Sandbox-Port: 8125\r\nContent-Length: ${1 << 30}\r\n\r\n`,
    );
    await deaf.peer(0);
    deaf.peers[0]?.pause();
    const chunk = new Uint8Array(1 << 20);
    let sent = 0;
    for (let idle = 0; idle < 20; ) {
      const written = eager.write(chunk);
      sent += Math.max(0, written);
      idle = written > 0 ? 0 : idle + 1;
      await Bun.sleep(5);
    }
    expect(sent).toBeLessThan(64 << 20);
    eager.terminate();
    deaf.stop();
  });
});
