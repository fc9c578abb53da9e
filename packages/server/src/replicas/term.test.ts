import { afterEach, beforeEach, expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { silentLogger } from "@boxyard/core/node";
import { LEASE_MS, momentOf, Term } from "./term.ts";

/** A machine that can sleep: the monotonic clock stands still then, and the other one goes on. */
class SleepyClock extends FakeClock {
  sleptMs = 0;

  override now(): number {
    return super.now() + this.sleptMs;
  }
}

let clock: SleepyClock;
let answers: () => Promise<boolean>;
let term: Term;
beforeEach(() => {
  clock = new SleepyClock(1_000_000);
  answers = async () => true;
  const lease = { renew: () => answers(), release: async () => {} };
  term = new Term(lease, 1, momentOf(clock), { clock, logger: silentLogger });
});
afterEach(() => term.end());

/** Lets time pass, and what is woken by it run. */
async function pass(ms: number): Promise<void> {
  for (let left = ms; left > 0; left -= 500) {
    await clock.advance(Math.min(500, left));
    await new Promise((resolve) => setImmediate(resolve));
  }
}

const away = () => Promise.reject(new Error("the database is away"));

test("a term is valid as long as its lease is renewed, and ends a second before the lease", async () => {
  await pass(10 * LEASE_MS);
  expect(term.isValid).toBe(true);
  answers = away;
  await pass(LEASE_MS - 1001);
  expect(term.isValid).toBe(true);
  await pass(1);
  expect(term.isValid).toBe(false);
  expect(() => term.check()).toThrow("could not renew its lease");
});

test("a machine that slept past the lease does not take it for valid, whichever clock has stood still, until it is renewed", async () => {
  clock.sleptMs = LEASE_MS;
  expect([clock.monotonic(), term.isValid]).toEqual([1_000_000, false]);
  await pass(1000);
  expect(term.isValid).toBe(true);
  // A clock that is set back makes nothing valid for longer.
  clock.sleptMs -= 3_600_000;
  answers = away;
  await pass(LEASE_MS);
  expect(term.isValid).toBe(false);
});

test("the term is lost when another replica has the lease, or when nothing was renewed for a minute", async () => {
  answers = away;
  const why = term.lost.catch(({ message }: Error) => message);
  await pass(LEASE_MS + 58_000);
  expect(await Promise.race([why, "not yet"])).toBe("not yet");
  await pass(3000);
  expect(await why).toContain("for a minute");
});
