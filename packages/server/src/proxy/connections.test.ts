import { describe, expect, test } from "bun:test";
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import { systemClock } from "@boxyard/core";
import { TestFront } from "../testing/front.ts";
import type { ApiHandler } from "./api-call.ts";

/* A client without a key cannot keep others out by holding connections (SECURITY.md). */

/** `/health` needs no key, `/known` counts as a request with a key, `/slow` never ends. */
const api: ApiHandler = (request, call) => {
  const { pathname } = new URL(request.url);
  if (pathname === "/known") call.trust();
  return pathname === "/slow" ? new Promise(() => {}) : new Response(pathname);
};

class Client {
  received = "";
  closed = false;
  private readonly socket: Socket;

  private constructor(socket: Socket) {
    this.socket = socket;
    socket.setEncoding("latin1").on("data", (text) => (this.received += text));
    socket.on("error", () => {}).on("close", () => (this.closed = true));
  }

  static async open(t: TestFront, localAddress = "127.0.0.1"): Promise<Client> {
    const socket = connect({ host: "127.0.0.1", port: t.front.port, localAddress });
    const client = new Client(socket);
    await once(socket, "connect");
    return client;
  }

  /** Connects, asks, and has the answer; the connection stays. */
  static async asking(t: TestFront, path: string, localAddress?: string): Promise<Client> {
    const client = await Client.open(t, localAddress);
    await client.ask(path);
    return client;
  }

  async ask(path: string): Promise<void> {
    this.send(path);
    while (!this.received.includes("\r\n\r\n") && !this.closed) await this.next("data");
  }

  send(path: string): void {
    this.socket.write(`GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
  }

  async isClosed(): Promise<void> {
    while (!this.closed) await this.next("close");
  }

  /** Waits for an event or the end; an error is followed by the end. */
  private next(event: "data" | "close"): Promise<unknown> {
    return new Promise((resolve) => this.socket.once(event, resolve).once("close", resolve));
  }

  get status(): string {
    return this.received.slice(9, 12);
  }
}

describe("when all connections are taken", () => {
  test("the one that has been idle for longest makes room", async () => {
    await using t = new TestFront(api, systemClock, 8);
    const first = await Client.asking(t, "/health");
    const others: Client[] = [];
    for (let i = 0; i < 12; i++) others.push(await Client.asking(t, "/health"));
    await first.isClosed();
    expect(others.map(({ status }) => status)).toEqual(Array(12).fill("200"));
    expect(others.at(-1)?.closed).toBe(false);
  });

  test("an address that holds many of them gives up its own, not those of others", async () => {
    await using t = new TestFront(api, systemClock, 8);
    const other = await Client.asking(t, "/health", "127.0.0.2");
    const many: Client[] = [];
    for (let i = 0; i < 20; i++) many.push(await Client.asking(t, "/health"));
    const late = await Client.asking(t, "/health", "127.0.0.3");
    await many[13]?.isClosed();
    expect([other.closed, late.status, late.closed]).toEqual([false, "200", false]);
  });

  test("connections of clients with a key are closed last", async () => {
    await using t = new TestFront(api, systemClock, 8);
    const known = await Client.asking(t, "/known");
    const many: Client[] = [];
    for (let i = 0; i < 20; i++) many.push(await Client.asking(t, "/health"));
    await many[10]?.isClosed();
    expect(known.closed).toBe(false);
    await known.ask("/known");
    expect(known.status).toBe("200");
  });

  test("no connection with a request in progress is closed; an address that holds its share is refused with a 503", async () => {
    await using t = new TestFront(api, systemClock, 8);
    const busy: Client[] = [];
    for (let i = 0; i < 6; i++) {
      busy.push(await Client.open(t));
      busy[i]?.send("/slow");
    }
    // Once this request is answered, the server has read the ones before it.
    await Client.asking(t, "/health", "127.0.0.2");
    const refused = await Client.asking(t, "/health");
    await refused.isClosed();
    const other = await Client.asking(t, "/health", "127.0.0.2");
    expect([refused.status, other.status, busy.some(({ closed }) => closed)]).toEqual(["503", "200", false]);
  });

  test("a connection with an incomplete head counts as idle", async () => {
    await using t = new TestFront(api, systemClock, 4);
    const mute: Client[] = [];
    for (let i = 0; i < 8; i++) mute.push(await Client.open(t));
    expect((await Client.asking(t, "/health")).status).toBe("200");
  });
});

test("a client without a key may be idle for 15 s only", async () => {
  let aheadMs = 0;
  await using t = new TestFront(api, { ...systemClock, monotonic: () => systemClock.monotonic() + aheadMs });
  const stranger = await Client.asking(t, "/health");
  const known = await Client.asking(t, "/known");
  aheadMs = 20_000;
  await stranger.isClosed();
  await known.ask("/known");
  expect([known.status, known.closed]).toEqual(["200", false]);
});
