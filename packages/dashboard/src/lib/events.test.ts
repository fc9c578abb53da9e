import { expect, test } from "bun:test";
import type { Event } from "@boxyard/spec/platform-types";
import { dataOf } from "./event-stream.ts";
import { changesOf, placeOf, toneOf } from "./event-words.ts";

const streamOf = (...parts: string[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const part of parts) controller.enqueue(new TextEncoder().encode(part));
      controller.close();
    },
  });

test("messages of a stream, however it is cut, without its comments", async () => {
  const found: string[] = [];
  for await (const data of dataOf(
    streamOf(": events\n\n", "id: 1\nevent: x\nda", 'ta: {"a":1}\n', "\nid: 2\ndata: 2\ndata: 3\n\nid: 3\nda"),
  ))
    found.push(data);
  expect(found).toEqual(['{"a":1}', "2\n3"]);
});

test("a message without an end is an error, not memory", async () => {
  const read = async () => {
    for await (const _ of dataOf(streamOf("data: ", "x".repeat(1 << 20))));
  };
  await expect(read()).rejects.toThrow("does not end");
});

const event = (action: string, more: Partial<Event> = {}): Event => ({
  ...{ id: 1, timestamp: "2026-01-01T00:00:00Z", action, targetID: "a/b", actor: { kind: "server" } },
  ...more,
});

test("where an event's target is, and what has changed", () => {
  expect([event("sandbox.running"), event("sandbox.dead"), event("build.ready")].map(placeOf)).toEqual([
    "/sandboxes/a%2Fb",
    undefined,
    undefined,
  ]);
  expect([event("sandbox.running"), event("build.error"), event("key.renamed")].map(toneOf)).toEqual(["good", "bad", ""]);
  const change = event("sandbox.changed", { before: { state: "running", old: 1 }, after: { state: "paused", size: { a: 1 } } });
  expect(changesOf(change)).toBe('state running → paused, old 1 → none, size {"a":1}');
  expect(changesOf(event("x.y", { after: { endAt: Date.UTC(2026, 0, 2, 12), owner: { kind: "user" } } }))).toMatch(/^endAt .*2.*$/);
  expect(changesOf(event("x.y", { after: { long: "x".repeat(100) } }))).toHaveLength("long ".length + 61);
});
