import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { TestServer } from "../../testing/test-server.ts";

interface Told {
  readonly id: number;
  readonly action: string;
  readonly targetID: string;
}

describe("events", () => {
  let s: TestServer;
  beforeEach(async () => {
    s = await TestServer.start();
  });
  afterEach(() => s[Symbol.asyncDispose]());

  const list = async (query = "") => (await s.call("GET", `/events${query}`)).body as { events: Told[]; cursor: number };

  /** Reads a stream in the background; `text` grows. */
  async function follow(query = "", headers: Record<string, string> = {}) {
    const gone = new AbortController();
    const response = await fetch(`${s.url}/events/stream${query}`, { headers: { "X-API-Key": s.apiKey, ...headers }, signal: gone.signal });
    const { status, headers: answered } = response;
    const read = { text: "", hasEnded: false, status, type: answered.get("content-type"), end: () => gone.abort() };
    const decoder = new TextDecoder();
    void (async () => {
      for await (const bytes of response.body ?? []) read.text += decoder.decode(bytes as Uint8Array);
    })()
      .catch(() => {})
      .finally(() => {
        read.hasEnded = true;
      });
    return read;
  }
  const idsOf = (text: string) => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));

  test("tell who did what to which, page by page, without what is secret", async () => {
    const { sandboxID } = await s.create({ metadata: { mine: "secret-value" }, envVars: { TOKEN: "secret-value" } });
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    const all: Told[] = [];
    for (let cursor = 0; ; ) {
      const page = await list(`?cursor=${cursor}&limit=2`);
      all.push(...page.events);
      if (page.events.length === 0) break;
      cursor = page.cursor;
    }
    const ours = all.filter(({ targetID }) => targetID === sandboxID);
    expect(ours.map(({ action }) => action)).toEqual(["sandbox.creating", "sandbox.running", "sandbox.killing", "sandbox.dead"]);
    expect(ours[0]).toMatchObject({ actor: { kind: "key", keyID: expect.any(String) }, after: { state: "creating", alias: "base" } });
    expect(JSON.stringify(all)).not.toContain("secret-value");
    expect((await list(`?targetID=${sandboxID}&action=sandbox.dead`)).events.map(({ action }) => action)).toEqual(["sandbox.dead"]);
    expect((await list(`?targetID=${sandboxID}&action=sandbox`)).events).toHaveLength(4);
    expect((await list(`?action=key`)).events.every(({ action }) => action.startsWith("key."))).toBe(true);
    // From the other end, page by page.
    const back: Told[] = [];
    for (let query = "?order=desc&limit=3"; ; ) {
      const page = await list(query);
      back.push(...page.events);
      if (page.events.length === 0) break;
      query = `?order=desc&limit=3&cursor=${page.cursor}`;
    }
    expect(back).toEqual([...all].reverse());
    const ends = await list(`?order=desc&action=sandbox&targetID=${sandboxID}&limit=1`);
    expect(ends.events.map(({ action }) => action)).toEqual(["sandbox.dead"]);
    for (const bad of ["order=up", "cursor=x", "cursor=-1", "limit=0", "action=%25"])
      expect((await s.call("GET", `/events?${bad}`)).status).toBe(400);
  });

  test("come as they happen, and a client that was away gets what it has missed, once and in order", async () => {
    const live = await follow("?action=sandbox");
    expect([live.status, live.type]).toEqual([200, "text/event-stream"]);
    await eventually("the stream is open", () => live.text.startsWith(": events"));
    await s.create();
    await eventually("the create is told", () => live.text.includes("event: sandbox.running"));
    live.end();
    const [first = 0, ...rest] = idsOf(live.text);
    expect(rest.every((id, i) => id > (rest[i - 1] ?? first))).toBe(true);
    const { sandboxID } = await s.create();
    await s.call("DELETE", `/sandboxes/${sandboxID}`);
    const again = await follow("?action=sandbox", { "last-event-id": String(rest.at(-1) ?? first) });
    await eventually("the end is told", () => again.text.includes("event: sandbox.dead"));
    again.end();
    const told = idsOf(live.text).concat(idsOf(again.text));
    const known = (await list("?action=sandbox")).events.map(({ id }) => id);
    expect(told).toEqual(known);
    expect((await follow("", { "last-event-id": "x" })).status).toBe(400);
  });

  test("of another team are not told, and a team has a bounded number of streams, which end with their clients", async () => {
    const { key } = (await s.call("POST", "/admin/teams", { slug: "other", name: "Other" })).body as { key: string };
    await s.create();
    const { body } = await s.call("GET", "/events?action=sandbox", undefined, { "X-API-Key": key });
    expect(body.events).toEqual([]);
    const open = await Promise.all(Array.from({ length: 20 }, () => follow()));
    expect(open.map(({ status }) => status)).toEqual(Array.from({ length: 20 }, () => 200));
    expect((await follow()).status).toBe(429);
    for (const one of open) one.end();
    await eventually("places are free again", async () => {
      const one = await follow();
      one.end();
      return one.status === 200;
    });
  });

  test("are told no more once the key of the stream is revoked", async () => {
    const { key, id } = (await s.call("POST", "/api-keys", { name: "follower" })).body as { key: string; id: string };
    const live = await follow("", { "X-API-Key": key });
    await eventually("the stream is open", () => live.text.startsWith(": events"));
    expect(live.hasEnded).toBe(false);
    await s.call("DELETE", `/api-keys/${id}`);
    await eventually("the stream is cut", () => live.hasEnded);
    expect((await follow("", { "X-API-Key": key })).status).toBe(401);
  });

  test("are told after a restart from where a client was", async () => {
    const { cursor } = await list();
    const { sandboxID } = await s.create();
    const { world, config } = s;
    await s.stop();
    s = await TestServer.start({ world, dataDir: config.dataDir });
    const stream = await follow(`?cursor=${cursor}&targetID=${sandboxID}`);
    await eventually("all of it is told", () => stream.text.includes("event: sandbox.running"));
    stream.end();
    expect(stream.text).toContain("event: sandbox.creating");
  });
});
