import { expect, test } from "bun:test";
import { atOnce } from "./at-once.ts";

test("work is called once for each item, in order, at most `limit` times at once", async () => {
  const seen: number[] = [];
  let [running, most] = [0, 0];
  await atOnce([1, 2, 3, 4, 5], 2, async (item) => {
    seen.push(item);
    most = Math.max(most, ++running);
    await Promise.resolve();
    running--;
  });
  expect([seen, most]).toEqual([[1, 2, 3, 4, 5], 2]);
});

test("after a failure no further call begins", async () => {
  const seen: number[] = [];
  const work = atOnce([1, 2, 3, 4], 1, async (item) => {
    seen.push(item);
    if (item === 2) throw new Error("two");
  });
  await expect(work).rejects.toThrow("two");
  expect(seen).toEqual([1, 2]);
});
