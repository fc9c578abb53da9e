import { expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { Evictor } from "./evictor.ts";

const settle = () => new Promise<void>((resolve) => setTimeout(resolve, 0));

/** Moves time in small steps, so that each timer runs in its turn. */
async function advance(clock: FakeClock, ms: number): Promise<void> {
  for (let passed = 0; passed < ms; passed += 10) {
    await clock.advance(10);
    await settle();
  }
}

test("passes each id once, when the time that was set last is over", async () => {
  const clock = new FakeClock(1000);
  const due: [string, number][] = [];
  const evictor = new Evictor(clock, (id) => due.push([id, clock.now()]));
  evictor.set("past", 500);
  evictor.start();
  await settle();
  evictor.set("a", 1100);
  evictor.set("b", 1050);
  evictor.set("moved", 1060);
  evictor.set("moved", 9000);
  evictor.set("gone", 1070);
  evictor.delete("gone");
  await settle();
  await advance(clock, 5000);
  expect(due).toEqual([
    ["past", 1000],
    ["b", 1050],
    ["a", 1100],
  ]);
  await evictor.stop();
});

test("sees within a second that the wall clock has jumped", async () => {
  const clock = new FakeClock(0);
  let wall = 0;
  const due: string[] = [];
  const jumpy = { ...clock, now: () => wall, monotonic: () => clock.monotonic(), sleep: clock.sleep.bind(clock) };
  const evictor = new Evictor(jumpy, (id) => due.push(id));
  evictor.set("a", 3_600_000);
  evictor.start();
  await settle();
  wall = 3_600_001;
  await advance(clock, 1010);
  expect(due).toEqual(["a"]);
  await evictor.stop();
});
