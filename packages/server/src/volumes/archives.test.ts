import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { whenEnded } from "./archives.ts";

const LIMIT_MS = 60_000;

/** An export of two pieces, and what became of it. */
function exported() {
  const clock = new FakeClock();
  const seen = { ended: 0, cancelled: false };
  const pieces = [1, 2].map((piece) => new Uint8Array([piece]));
  const source = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift();
      if (piece) controller.enqueue(piece);
      else controller.close();
    },
    cancel() {
      seen.cancelled = true;
    },
  });
  const end = () => {
    seen.ended += 1;
  };
  return { clock, seen, reader: whenEnded(source, end, { clock, ms: LIMIT_MS }).getReader() };
}

test("a reader that takes nothing for a minute is given up, from the start and between two pieces", async () => {
  for (const takes of [0, 1]) {
    const { clock, seen, reader } = exported();
    for (let i = 0; i < takes; i++) await reader.read();
    await clock.advance(LIMIT_MS - 1);
    expect(seen.ended).toBe(0);
    await clock.advance(1);
    expect(seen).toEqual({ ended: 1, cancelled: true });
    expect(await reader.read().catch((error: unknown) => error)).toMatchObject({ code: "deadline_exceeded", reason: "reader_too_slow" });
  }
});

test("a reader that takes all, or leaves, ends it once", async () => {
  for (const takes of [3, 0]) {
    const { clock, seen, reader } = exported();
    for (let i = 0; i < takes; i++) await reader.read();
    if (takes === 0) await reader.cancel();
    await clock.advance(2 * LIMIT_MS);
    expect(seen).toEqual({ ended: 1, cancelled: takes === 0 });
  }
});
