import { expect, test } from "bun:test";
import { dice } from "../../testing/dice.ts";
import { DueTimes } from "./due-times.ts";

test("after any changes the next time, and what is due, are those of a plain map", () => {
  const next = dice(3);
  const times = new DueTimes();
  const plain = new Map<string, number>();
  for (let round = 0; round < 20_000; round++) {
    const id = `i${next(50)}`;
    const at = round + next(300);
    if (next(4) === 0) {
      times.delete(id);
      plain.delete(id);
    } else {
      times.set(id, at);
      plain.set(id, at);
    }
    expect(times.next()).toBe(plain.size === 0 ? undefined : Math.min(...plain.values()));
    if (next(5) !== 0) continue;
    const due = [...plain].filter(([, time]) => time <= round + 100);
    const taken = times.takeDue(round + 100);
    expect(taken.map((one) => plain.get(one) as number)).toEqual(due.map(([, time]) => time).sort((a, b) => a - b));
    expect([...taken].sort()).toEqual(due.map(([one]) => one).sort());
    for (const one of taken) plain.delete(one);
  }
});

test("times that are set again and again leave nothing behind", () => {
  const times = new DueTimes();
  for (let at = 0; at < 100_000; at++) times.set(`i${at % 10}`, at);
  expect((times as unknown as { heap: unknown[] }).heap.length).toBeLessThan(200);
  expect(times.takeDue(100_000)).toHaveLength(10);
});
