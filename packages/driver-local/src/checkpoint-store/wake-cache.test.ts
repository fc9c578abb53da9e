import { expect, test } from "bun:test";
import { FakeClock, type SandboxId } from "@boxyard/core";
import { type FrozenSandbox, type TrialResult, WakeCache } from "./wake-cache.ts";

const idOf = (n: number) => `i${String(n).padStart(19, "0")}x` as SandboxId;
const frozen = (bytes = 100): FrozenSandbox => ({ incarnation: 1, bytes, processes: [] });
const settle = () => Bun.sleep(0);

/** A cache of 1,000 bytes that keeps sandboxes for 60 s; trials wait until the test ends them. */
function cacheOf({ trialsAtOnce = 1, freeBytes = 10_000 } = {}) {
  const clock = new FakeClock();
  const memory = { freeBytes, leastFreeBytes: 1_000 };
  const cache = new WakeCache({ limits: { budgetBytes: 1_000, lingerMs: 60_000, trialsAtOnce }, clock, memory: () => memory });
  const dropped: SandboxId[] = [];
  const tried: { readonly id: SandboxId; end(result: TrialResult): Promise<void> }[] = [];
  cache.open({
    async drop(id) {
      dropped.push(id);
    },
    tryImage(id, _frozen, signal) {
      const { promise, resolve } = Promise.withResolvers<TrialResult>();
      signal.addEventListener("abort", () => resolve("unknown"));
      const end = async (result: TrialResult) => {
        resolve(result);
        await settle();
      };
      tried.push({ id, end });
      return promise;
    },
  });
  const after = async (ms: number) => {
    await clock.advance(ms);
    cache.look();
  };
  return { cache, after, dropped, tried, memory };
}

test("an image is tried after half of its time in the cache, and its processes go when the trial has passed and the time is over", async () => {
  const { cache, after, dropped, tried } = cacheOf();
  cache.add(idOf(1), frozen());
  await after(29_999);
  expect(tried).toEqual([]);
  await after(1);
  expect(tried.map(({ id }) => id)).toEqual([idOf(1)]);
  await after(40_000);
  expect(dropped).toEqual([]);
  await tried[0]?.end("starts");
  await after(0);
  expect(dropped).toEqual([idOf(1)]);
});

test.each(["starts", "unknown"] as const)("after a trial with the result '%s' the time counts as before", async (result) => {
  const { cache, after, dropped, tried } = cacheOf();
  cache.add(idOf(1), frozen());
  await after(30_000);
  await tried[0]?.end(result);
  await after(29_999);
  expect(dropped).toEqual([]);
  await after(1);
  expect([dropped, tried.length]).toEqual([[idOf(1)], 1]);
});

test("a sandbox whose image fails stays, whatever others need, and counts in the budget; a resume takes it, and the end of the server", async () => {
  const { cache, after, dropped, tried, memory } = cacheOf();
  cache.add(idOf(1), frozen(600));
  await after(30_000);
  await tried[0]?.end("fails");
  cache.add(idOf(2), frozen(300));
  await after(3_600_000);
  expect(await cache.reclaim({ memoryBytes: 1_000, processes: 10 })).toBe(true);
  memory.freeBytes = 0;
  await after(0);
  expect([dropped, cache.has(idOf(1))]).toEqual([[idOf(2)], true]);
  memory.freeBytes = 10_000;
  expect([cache.takes(400), cache.takes(401)]).toEqual([true, false]);
  expect(cache.take(idOf(1))?.bytes).toBe(600);
  cache.add(idOf(3), frozen());
  await after(30_000);
  await tried.at(-1)?.end("fails");
  await cache.close();
  expect(dropped).toEqual([idOf(2), idOf(3)]);
});

test("so many are tried at once as the setting says, the oldest first, and the others wait for their trial", async () => {
  const { cache, after, dropped, tried } = cacheOf({ trialsAtOnce: 2 });
  for (const n of [1, 2, 3]) cache.add(idOf(n), frozen());
  await after(70_000);
  expect([tried.map(({ id }) => id), dropped]).toEqual([[idOf(1), idOf(2)], []]);
  await tried[0]?.end("starts");
  await after(0);
  expect([tried.map(({ id }) => id), dropped]).toEqual([[1, 2, 3].map(idOf), [idOf(1)]]);
});

test("none is tried when the setting is 0, or as long as there is no memory for it; then the time alone counts", async () => {
  for (const options of [{ trialsAtOnce: 0 }, { freeBytes: 1_050 }]) {
    const { cache, after, dropped, tried } = cacheOf(options);
    cache.add(idOf(1), frozen());
    await after(59_999);
    expect([tried, dropped]).toEqual([[], []]);
    await after(1);
    expect([tried, dropped]).toEqual([[], [idOf(1)]]);
  }
});

test("the end of the cache waits for a trial, which is broken off", async () => {
  const { cache, after, dropped, tried } = cacheOf();
  cache.add(idOf(1), frozen());
  await after(30_000);
  expect(tried.length).toBe(1);
  await cache.close();
  expect([dropped, cache.takes(1)]).toEqual([[idOf(1)], false]);
});
