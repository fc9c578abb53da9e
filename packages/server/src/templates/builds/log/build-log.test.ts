import { expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import type { BuildLogLine, TemplateStore } from "../../../store/index.ts";
import { BuildLog } from "./build-log.ts";

/** A store that takes lines only after `open`. */
function slowStore() {
  const taken: BuildLogLine[] = [];
  const gate = Promise.withResolvers<void>();
  const addLogs = async (_id: string, place: number, lines: readonly BuildLogLine[]) => {
    await gate.promise;
    expect(place).toBe(taken.length);
    taken.push(...lines);
  };
  return { taken, open: gate.resolve, fail: gate.reject, store: { addLogs } as unknown as TemplateStore };
}

test("a build that is quicker than the store waits for it, and loses no line", async () => {
  const { taken, open, store } = slowStore();
  const log = new BuildLog("b", store, systemClock);
  let added = 0;
  let waits = false;
  const printing = (async () => {
    for (; added < 10_000; added++) {
      log.add(`line ${added}`);
      await log.room();
    }
  })();
  // Time alone: long enough for a log without a bound to add all lines.
  await Bun.sleep(20);
  waits = added < 3000;
  open();
  await printing;
  await log.flush();
  expect(waits).toBe(true);
  expect(taken.map(({ message }) => message)).toEqual(Array.from({ length: 10_000 }, (_, i) => `line ${i}`));
});

test("a few long lines wait for the store like many short ones", async () => {
  const { open, store } = slowStore();
  const log = new BuildLog("b", store, systemClock);
  let added = 0;
  const printing = (async () => {
    for (; added < 1000; added++) {
      log.add("x".repeat(8192));
      await log.room();
    }
  })();
  // Time alone: as above.
  await Bun.sleep(20);
  expect(added).toBeLessThan(300);
  open();
  await printing;
});

test("a log has a limit of lines and of length, which one line tells; errors after it are kept", async () => {
  for (const [line, most] of [
    ["x", 100_000],
    ["x".repeat(8192), 4096],
  ] as const) {
    const { taken, open, store } = slowStore();
    open();
    const log = new BuildLog("b", store, systemClock);
    for (let i = 0; i < most + 10; i++) {
      log.add(line);
      await log.room();
    }
    log.add("the end", undefined, "error");
    await log.flush();
    expect(taken.length).toBe(most + 2);
    expect(taken.slice(-2).map(({ message }) => message)).toEqual([expect.stringContaining("what follows is not kept"), "the end"]);
  }
});

test("after a failed write no more lines are kept in memory", async () => {
  const { fail, store } = slowStore();
  const log = new BuildLog("b", store, systemClock);
  log.add("one");
  fail(new Error("the disk is full"));
  await expect(log.flush()).rejects.toThrow("the disk is full");
  for (let i = 0; i < 5000; i++) {
    log.add("more");
    await log.room();
  }
  expect((log as unknown as { pending: unknown[] }).pending).toEqual([]);
});
