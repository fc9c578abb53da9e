import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { AddressPool } from "./address-pool.ts";

const QUARANTINE_MS = 1000;

function makePool(size: number, options: { cursor?: number; saveCursor?: (offset: number) => void; clock?: FakeClock } = {}) {
  const clock = options.clock ?? new FakeClock();
  const pool = new AddressPool({
    first: 100,
    last: 100 + size - 1,
    quarantineMs: QUARANTINE_MS,
    clock,
    cursor: options.cursor ?? 0,
    saveCursor: options.saveCursor ?? (() => {}),
  });
  return { pool, clock };
}

/** The same pseudo-random numbers in every run, so that a failure can be repeated. */
function randomFrom(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

test("gives every address once, then throws that there is none", () => {
  const { pool } = makePool(300);
  const given = new Set(Array.from({ length: 300 }, () => pool.take()));
  expect([given.size, Math.min(...given), Math.max(...given)]).toEqual([300, 100, 399]);
  expect(() => pool.take()).toThrow(expect.objectContaining({ code: "resource_exhausted", reason: "no_addresses" }));
});

test("never gives an address that is in use, or freed less than the quarantine ago (random histories against a plain model)", async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = randomFrom(seed);
    const size = 1 + random(40);
    const { pool, clock } = makePool(size, { cursor: random(100) });
    const used = new Set<number>();
    const freedAt = new Map<number, number>();
    const isQuarantined = (address: number) => clock.now() - (freedAt.get(address) ?? Number.NEGATIVE_INFINITY) < QUARANTINE_MS;
    for (let step = 0; step < 400; step++) {
      const choice = random(10);
      if (choice < 5) {
        const free = Array.from({ length: size }, (_, i) => 100 + i).filter((a) => !used.has(a) && !isQuarantined(a));
        if (free.length === 0) {
          expect(() => pool.take()).toThrow();
          continue;
        }
        const address = pool.take();
        expect(free).toContain(address);
        used.add(address);
      } else if (choice < 8) {
        const address = [...used][random(used.size)] ?? 100 + random(size);
        if (used.delete(address)) freedAt.set(address, clock.now());
        pool.release(address);
      } else if (choice === 8) {
        const address = 95 + random(size + 10);
        const inRange = address >= 100 && address < 100 + size;
        expect(pool.reserve(address)).toBe(inRange);
        if (inRange) used.add(address);
      } else await clock.advance(random(QUARANTINE_MS));
      expect(pool.inUse).toBe(used.size);
    }
  }
});

test("gives a freed address again only after all others", () => {
  const { pool } = makePool(1000);
  const first = pool.take();
  pool.release(first);
  const next = Array.from({ length: 999 }, () => pool.take());
  expect(next).not.toContain(first);
});

test("goes on beyond the addresses that an earlier pool gave out, wherever that pool ended", () => {
  for (const count of [0, 1, 255, 256, 257, 700]) {
    const saves: number[] = [];
    const { pool } = makePool(5000, { saveCursor: (offset) => saves.push(offset) });
    const given = new Set(Array.from({ length: count }, () => pool.take()));
    const { pool: second } = makePool(5000, { cursor: saves.at(-1) ?? 0 });
    for (let i = 0; i < 1000; i++) expect(given.has(second.take())).toBe(false);
    expect(saves.length).toBe(Math.ceil(count / 256));
  }
});

test("accepts any number as a cursor", () => {
  for (const cursor of [Number.NaN, -1, 1.5, 1e300, 12345678]) expect(makePool(10, { cursor }).pool.take()).toBeGreaterThanOrEqual(100);
});
