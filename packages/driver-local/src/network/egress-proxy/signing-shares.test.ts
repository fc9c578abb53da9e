import { expect, test } from "bun:test";
import { SigningShares } from "./signing-shares.ts";

test("each sandbox has a share of its own, which grows again with time and is never more than at first", () => {
  let now = 0;
  const shares = new SigningShares(() => now);
  const taken = (address: string) => {
    let count = 0;
    while (shares.take(address)) count += 1;
    return count;
  };
  expect([taken("10.0.0.1"), taken("10.0.0.1"), taken("10.0.0.2")]).toEqual([100, 0, 100]);
  now += 1000;
  expect([taken("10.0.0.1"), taken("10.0.0.1")]).toEqual([5, 0]);
  now += 3_600_000;
  expect(taken("10.0.0.1")).toBe(100);
  shares.forget("10.0.0.1");
  expect(taken("10.0.0.1")).toBe(100);
});
