import { describe, expect, test } from "bun:test";
import { isAppError } from "@boxyard/core";
import { BodyBudget, type BudgetLimits } from "./budget.ts";

const budgetOf = (totalBytes: number, more: Partial<BudgetLimits> = {}, collect = () => {}) =>
  new BodyBudget({ totalBytes, freeBytes: 0, waitMs: 10_000, collectBytes: 1_000, ...more }, collect);

describe("BodyBudget", () => {
  test("counts what is held beyond the free part of each, and uncounts what is released", async () => {
    const budget = budgetOf(100, { freeBytes: 10 });
    const [a, b] = [budget.claim(), budget.claim()];
    await a.hold(10);
    expect(budget.usedBytes).toBe(0);
    await a.hold(50);
    await b.hold(60);
    expect(budget.usedBytes).toBe(90);
    await a.hold(20);
    expect(budget.usedBytes).toBe(60);
    a.release();
    a.release();
    b.release();
    expect(budget.usedBytes).toBe(0);
  });

  test("a claim that does not fit waits in order, and is granted when others release", async () => {
    const budget = budgetOf(100);
    const [first, second, third] = [budget.claim(), budget.claim(), budget.claim()];
    await first.hold(80);
    const order: string[] = [];
    const waiting = [second.hold(60).then(() => order.push("second")), third.hold(10).then(() => order.push("third"))];
    await Promise.resolve();
    expect(order).toEqual([]);
    first.release();
    await Promise.all(waiting);
    expect([order, budget.usedBytes]).toEqual([["second", "third"], 70]);
  });

  test("a claim that waits too long is refused, and those behind it are granted; one above the total is refused at once", async () => {
    const budget = budgetOf(100, { waitMs: 20 });
    const [first, second, third] = [budget.claim(), budget.claim(), budget.claim()];
    await first.hold(80);
    const refused = second.hold(60).catch((error) => isAppError(error, "bodies_full"));
    const small = third.hold(20);
    expect(await refused).toBe(true);
    await small;
    expect(budget.usedBytes).toBe(100);
    expect(
      await budget
        .claim()
        .hold(101)
        .catch((error) => isAppError(error, "resource_exhausted")),
    ).toBe(true);
  });

  test("collect runs each time that collectBytes have been claimed, however few are held at once", async () => {
    let collected = 0;
    const budget = budgetOf(100, { collectBytes: 250 }, () => collected++);
    for (let i = 0; i < 9; i++) {
      const claim = budget.claim();
      await claim.hold(100);
      claim.release();
    }
    expect(collected).toBe(3);
  });

  test("a claim that is granted after its request has ended is released", async () => {
    const budget = budgetOf(100);
    const [first, late] = [budget.claim(), budget.claim()];
    await first.hold(80);
    const waiting = late.hold(60);
    late.release();
    first.release();
    await waiting;
    expect(budget.usedBytes).toBe(0);
  });
});
