import { expect, test } from "bun:test";
import { Semaphore } from "./semaphore.ts";

const never = new AbortController().signal;
const settle = async () => {
  for (let i = 0; i < 10; i++) await Promise.resolve();
};

test("only so many run at once, the others in order of arrival", async () => {
  const places = new Semaphore(2);
  const begun: number[] = [];
  const ends = [0, 1, 2, 3].map(() => Promise.withResolvers<void>());
  const all = ends.map(({ promise }, i) =>
    places.run(never, () => {
      begun.push(i);
      return promise;
    }),
  );
  await settle();
  expect(begun).toEqual([0, 1]);
  ends[1]?.resolve();
  await settle();
  expect(begun).toEqual([0, 1, 2]);
  for (const { resolve } of ends) resolve();
  await Promise.all(all);
  expect(begun).toEqual([0, 1, 2, 3]);
});

test("work that fails gives its place back, and so does one that is disposed of twice, once", async () => {
  const places = new Semaphore(1);
  await expect(places.run(never, () => Promise.reject(new Error("no")))).rejects.toThrow("no");
  const place = await places.enter(never);
  place[Symbol.dispose]();
  place[Symbol.dispose]();
  using _one = await places.enter(never);
  const stop = new AbortController();
  const second = places.enter(stop.signal);
  stop.abort(new Error("too long"));
  await expect(second).rejects.toThrow("too long");
});

test("an abort at the very moment in which a caller is let in takes no other caller's place in the queue", async () => {
  const places = new Semaphore(1);
  const first = await places.enter(never);
  const stop = new AbortController();
  const second = places.enter(stop.signal);
  const third = places.enter(never);
  await settle();
  first[Symbol.dispose]();
  stop.abort();
  (await second)[Symbol.dispose]();
  (await third)[Symbol.dispose]();
});
