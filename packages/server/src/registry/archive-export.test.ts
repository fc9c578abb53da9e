import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { FakeDriver, FakeWorld, makeTar } from "@boxyard/driver/fake";
import { exportArchive, streamOf } from "./archive-export.ts";
import { NO_SETTINGS } from "./testing/no-settings.ts";

const signal = new AbortController().signal;

test("size and digest of an archive are known before a layer is read: what takes time is the reading", async () => {
  const world = new FakeWorld();
  const { images } = new FakeDriver(world);
  const layer = makeTar([{ path: "file", text: "x".repeat(100_000) }]);
  const { digest } = await images.importLayer(new Blob([layer]).stream(), { signal });
  const { tar, sizeBytes } = await exportArchive({ image: { layers: [digest], settings: NO_SETTINGS }, images, signal });
  expect(world.faults.calls).not.toContain("exportLayer");
  const bytes = await new Response(tar).bytes();
  expect([bytes.length, world.faults.calls.includes("exportLayer")]).toEqual([sizeBytes, true]);
});

/** A stream of pieces, whose generator notes its end. */
function stream(pieces: number) {
  const clock = new FakeClock();
  let isOver = false;
  const parts = async function* () {
    try {
      for (let piece = 0; piece < pieces; piece++) yield new Uint8Array([piece]);
    } finally {
      isOver = true;
    }
  };
  return { clock, isOver: () => isOver, reader: streamOf(parts(), { clock, ms: 60_000 }).getReader() };
}

test("a reader that takes nothing for a minute is given up, so that it holds no turn for ever", async () => {
  const { clock, isOver, reader } = stream(3);
  await reader.read();
  await clock.advance(59_999);
  expect((await reader.read()).value).toEqual(new Uint8Array([1]));
  await clock.advance(59_999);
  expect(isOver()).toBe(false);
  await clock.advance(1);
  await expect(reader.read()).rejects.toMatchObject({ code: "deadline_exceeded", reason: "reader_too_slow" });
  expect(isOver()).toBe(true);
});

test("a reader that takes all, or leaves, has no limit of time afterwards", async () => {
  for (const end of ["read", "leave"] as const) {
    const { clock, isOver, reader } = stream(1);
    await reader.read();
    if (end === "read") expect((await reader.read()).done).toBe(true);
    else await reader.cancel();
    expect(isOver()).toBe(true);
    await clock.advance(120_000);
    await reader.closed;
  }
});
