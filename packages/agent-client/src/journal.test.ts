import { expect, test } from "bun:test";
import { journalOf, readJournal } from "./journal.ts";

const entry = (seq: number, more: object = {}) => ({ seq, at: 5, kind: "agent", text: `t${seq}`, ...more });

test("takes what a journal is, and leaves out entries that are none or not in order", () => {
  const answer = {
    entries: [entry(3), entry(2), entry(4, { kind: "other" }), entry(5, { at: -1 }), null, entry(6, { pid: 7, exitCode: -1, ms: 8 })],
  };
  expect(journalOf({ ...answer, last: 6, running: 1 }, 2)).toEqual({
    entries: [entry(3), entry(6, { pid: 7, exitCode: -1, ms: 8 })] as never,
    last: 6,
    running: 1,
  });
  for (const other of [
    null,
    5,
    "x",
    [],
    {},
    { entries: {}, last: 1, running: 0 },
    { entries: [], last: -1, running: 0 },
    { entries: [], last: 1 },
  ]) {
    expect(journalOf(other, 0)).toBeUndefined();
  }
  const many = journalOf(
    { entries: Array.from({ length: 500 }, (_, i) => entry(i + 1, { text: "x".repeat(5000) })), last: 500, running: 0 },
    0,
  );
  expect([many?.entries.length, many?.entries[0]?.text.length]).toEqual([200, 500]);
});

const EMPTY = { entries: [], last: 0, running: 0 };
/** A journal with one more member, which is `text`: `JSON.stringify` does not make every text. */
const withMore = (text: string) => new Response(`{"entries":[],"last":0,"running":0,"more":${text}}`);
test.each([
  ["no such route", () => new Response("", { status: 404 })],
  ["a redirect", () => Response.redirect("http://127.0.0.1:1/", 302)],
  ["no JSON", () => new Response("{")],
  ["more than a megabyte", () => Response.json({ ...EMPTY, more: "x".repeat(1 << 20) })],
  ["a hundred thousand levels", () => withMore("[".repeat(100_000) + "]".repeat(100_000))],
  ["a hundred thousand members", () => Response.json({ ...EMPTY, more: Array.from({ length: 100_000 }, () => 0) })],
  ["a body without end", () => new Response(new ReadableStream({ pull: (controller) => controller.enqueue(new Uint8Array(65_536)) }))],
])("an agent that answers %s has no journal", async (_what, answer) => {
  await using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: answer });
  const agent = { address: { host: "127.0.0.1", agentPort: Number(server.port) }, accessToken: "t" } as never;
  expect(await readJournal(agent, 0, AbortSignal.timeout(20_000))).toBeUndefined();
});

test("brackets and commas within texts are no levels and members", async () => {
  const text = '[{"\\\\",'.repeat(80);
  const entries = Array.from({ length: 200 }, (_, i) => entry(i + 1, { text, pid: 1, exitCode: 2, ms: 3 }));
  await using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => Response.json({ entries, last: 200, running: 0 }) });
  const agent = { address: { host: "127.0.0.1", agentPort: Number(server.port) }, accessToken: "t" } as never;
  const journal = await readJournal(agent, 0, AbortSignal.timeout(20_000));
  expect([journal?.entries.length, journal?.entries[0]?.text]).toEqual([200, text.slice(0, 500)]);
});

test("an agent that does not answer has none, and its caller does not wait", async () => {
  await using server = Bun.serve({ hostname: "127.0.0.1", port: 0, fetch: () => new Promise<Response>(() => {}) });
  const agent = { address: { host: "127.0.0.1", agentPort: Number(server.port) }, accessToken: "t" } as never;
  expect(await readJournal(agent, 0, AbortSignal.timeout(20))).toBeUndefined();
});
