import { describe, expect, test } from "bun:test";
import { FakeClock, isAppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast, type Reader } from "./broadcast.ts";
import { ALONE } from "./output-shares.ts";

const bytes = (length: number) => new Uint8Array(length);
const text = (value: string) => new TextEncoder().encode(value);

async function next(reader: Reader<string>): Promise<string> {
  const delivery = await reader.next();
  if (!delivery) return "over";
  return "end" in delivery ? `end ${delivery.end}` : new TextDecoder().decode(delivery.piece.bytes);
}

/** True when the promise settles without any time passing. */
async function isSettled(promise: Promise<unknown>): Promise<boolean> {
  let settled = false;
  void promise.then(
    () => (settled = true),
    () => (settled = true),
  );
  for (let i = 0; i < 10; i++) await Promise.resolve();
  return settled;
}

describe("Broadcast", () => {
  test("a reader gets earlier output, new output, the end, and nothing after it", async () => {
    const source = new Broadcast<string>(new FakeClock());
    source.append("stdout", text("early"));
    const reader = source.subscribe();
    expect(await next(reader)).toBe("early");
    const waiting = next(reader);
    source.append("stdout", text("later"));
    expect(await waiting).toBe("later");
    const atEnd = next(reader);
    source.finish("done");
    expect([await atEnd, await next(reader), source.readerCount]).toEqual(["end done", "over", 0]);
  });

  test("a new reader starts behind the output that any reader has received; a piece counts at the next call", async () => {
    const source = new Broadcast<string>(new FakeClock());
    source.append("stdout", text("one"));
    const first = source.subscribe();
    await next(first);
    first.leave();
    expect(source.subscribe().offset).toBe(0);
    const second = source.subscribe();
    await next(second);
    void next(second);
    expect(source.subscribe().offset).toBe(3);
  });

  test("an offset is clamped to what the log holds", () => {
    const source = new Broadcast<string>(new FakeClock());
    source.append("stdout", text("12345"));
    expect([source.subscribe(2).offset, source.subscribe(99).offset, source.subscribe(0).offset]).toEqual([2, 5, 0]);
  });

  test("without readers there is always room", async () => {
    const source = new Broadcast<string>(new FakeClock());
    source.append("stdout", bytes(10_000_000));
    expect(await isSettled(source.room())).toBe(true);
  });

  test("the process runs at the pace of the quickest reader; a slower one gets everything while it is within its bound", async () => {
    const source = new Broadcast<string>(new FakeClock());
    const slow = source.subscribe();
    const quick = source.subscribe();
    for (let i = 0; i < 100; i++) {
      expect(await isSettled(source.room())).toBe(true);
      source.append("stdout", bytes(32 * 1024));
      await quick.next();
      void quick.next();
    }
    source.finish("x");
    let taken = 0;
    for (let delivery = await slow.next(); delivery && "piece" in delivery; delivery = await slow.next())
      taken += delivery.piece.bytes.length;
    expect(taken).toBe(100 * 32 * 1024);
  });

  test("quicker readers wait for one beyond its bound for a second in all, then it is disconnected", async () => {
    const source = new Broadcast<string>({ now: () => 0, monotonic: () => performance.now(), sleep: async () => {} });
    const slow = source.subscribe();
    const quick = source.subscribe();
    let waits = 0;
    for (let i = 0; i < 300; i++) {
      const room = source.room();
      if (!(await isSettled(room))) waits++;
      await room;
      source.append("stdout", bytes(32 * 1024));
      await quick.next();
      void quick.next();
      expect(source.log.heldBytes).toBeLessThan(5 * 1024 * 1024);
    }
    expect(waits).toBe(1);
    expect(slow.heldOthersMs).toBeGreaterThanOrEqual(LIMITS.readerHoldMs);
    expect(await slow.next().catch((error) => isAppError(error, "reader_lagged"))).toBe(true);
    expect([source.readerCount, source.log.heldBytes < 600 * 1024]).toEqual([1, true]);
  });

  test("there is no room while the quickest reader is behind; receiving, leaving or the end makes room", async () => {
    const make = () => {
      const source = new Broadcast<string>(new FakeClock());
      const reader = source.subscribe();
      source.append("stdout", bytes(400 * 1024));
      return { source, reader };
    };
    const blocked = make();
    expect(await isSettled(blocked.source.room())).toBe(false);
    const left = make();
    const room = left.source.room();
    left.reader.leave();
    expect(await isSettled(room)).toBe(true);
    const ended = make();
    const roomAtEnd = ended.source.room();
    ended.source.finish("x");
    expect(await isSettled(roomAtEnd)).toBe(true);
    const taken = make();
    const roomLater = taken.source.room();
    for (let i = 0; i < 7; i++) await taken.reader.next();
    expect(await isSettled(roomLater)).toBe(true);
  });

  test("readers that receive nothing while the process waits are all disconnected after 30 s", async () => {
    const clock = new FakeClock();
    const source = new Broadcast<string>(clock);
    const readers = Array.from({ length: 5 }, () => source.subscribe());
    source.append("stdout", bytes(400 * 1024));
    for (const reader of readers.slice(2)) for (let i = 0; i < 3; i++) await reader.next();
    const room = source.room();
    await clock.advance(29_999);
    source.recheck();
    expect([await isSettled(room), source.readerCount]).toEqual([false, 5]);
    await clock.advance(1);
    source.recheck();
    expect([await isSettled(room), source.readerCount]).toEqual([true, 0]);
    await expect(readers[0]?.next()).rejects.toThrow("too slowly");
  });

  test("the 30 s begin anew for a reader that receives a piece, not for the others", async () => {
    const clock = new FakeClock();
    const source = new Broadcast<string>(clock);
    const [trickling, stuck] = [source.subscribe(), source.subscribe()];
    source.append("stdout", bytes(600 * 1024));
    const room = source.room();
    for (let i = 0; i < 4; i++) {
      await clock.advance(20_000);
      await trickling.next();
      source.recheck();
      expect([await isSettled(room), source.readerCount]).toEqual([false, 2]);
    }
    trickling.leave();
    expect([await isSettled(room), source.readerCount]).toEqual([true, 0]);
    await expect(stuck.next()).rejects.toThrow("too slowly");
  });

  test("the time that the process did not wait for a reader does not count against it", async () => {
    const clock = new FakeClock();
    const source = new Broadcast<string>(clock);
    const [quick, slow] = [source.subscribe(), source.subscribe()];
    source.append("stdout", bytes(400 * 1024));
    const blocked = source.room();
    for (let i = 0; i < 13; i++) await quick.next();
    void quick.next();
    expect(await isSettled(blocked)).toBe(true);
    await clock.advance(60_000);
    quick.leave();
    const room = source.room();
    expect([await isSettled(room), source.readerCount]).toEqual([false, 1]);
    slow.leave();
    expect(await isSettled(room)).toBe(true);
  });

  test("a reader that stops before the end delays neither the end nor other readers, and gets everything later", async () => {
    const clock = new FakeClock();
    const source = new Broadcast<string>(clock);
    const stuck = source.subscribe();
    source.append("stdout", bytes(600 * 1024));
    const room = source.room();
    source.finish("done");
    expect(await isSettled(room)).toBe(true);
    await clock.advance(3_600_000);
    const other = source.subscribe();
    for (const reader of [other, stuck]) {
      let taken = 0;
      for (let got = await reader.next(); got && "piece" in got; got = await reader.next()) taken += got.piece.bytes.length;
      expect(taken).toBe(600 * 1024);
    }
    expect(source.readerCount).toBe(0);
    expect(source.log.heldBytes).toBeLessThanOrEqual(ALONE.logBytes);
  });

  test("the time without output does not count against a reader", async () => {
    const clock = new FakeClock();
    const source = new Broadcast<string>(clock, ALONE, 1_000);
    const reader = source.subscribe();
    await clock.advance(5_000);
    source.append("stdout", bytes(400 * 1024));
    const room = source.room();
    expect(await isSettled(room)).toBe(false);
    expect(source.readerCount).toBe(1);
    for (let i = 0; i < 7; i++) await reader.next();
    expect(await isSettled(room)).toBe(true);
  });

  test("an urgent read needs no room", async () => {
    const source = new Broadcast<string>(new FakeClock());
    source.subscribe();
    source.append("stdout", bytes(400 * 1024));
    let isUrgent = false;
    const room = source.room(() => isUrgent);
    expect(await isSettled(room)).toBe(false);
    isUrgent = true;
    source.recheck();
    expect(await isSettled(room)).toBe(true);
  });

  test("leaving wakes a waiting reader, which gets nothing more", async () => {
    const source = new Broadcast<string>(new FakeClock());
    const reader = source.subscribe();
    const waiting = next(reader);
    reader.leave();
    expect(await waiting).toBe("over");
  });
});
