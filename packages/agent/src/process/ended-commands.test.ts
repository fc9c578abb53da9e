import { describe, expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";
import { EndedCommand, EndedCommands } from "./ended-commands.ts";

const END: EndStatus = { exitCode: 0, exited: true, status: "exit status 0" };
const SIZE = 200 * 1024;

/** The ends of commands by number, each with that number of bytes as its last output. */
function make() {
  const clock = new FakeClock();
  const ended = new EndedCommands(clock);
  const add = (pid: number, { tag, bytes = 0, reads = false }: { tag?: string; bytes?: number; reads?: boolean } = {}) => {
    const output = new Broadcast<EndStatus>(clock);
    const reader = reads ? output.subscribe() : undefined;
    output.append("stdout", new Uint8Array(bytes));
    output.finish(END);
    const end = new EndedCommand(pid, tag, output, clock.monotonic());
    ended.add(end);
    return { end, reader };
  };
  const addMany = (from: number, count: number, options: { bytes?: number } = {}) => {
    for (let pid = from; pid < from + count; pid++) add(pid, options);
  };
  const has = (...pids: number[]) => pids.map((pid) => ended.findByPid(pid) !== undefined);
  return { clock, ended, add, addMany, has };
}

describe("EndedCommands", () => {
  test("an end is found for the contract's 30 s, however many others there are", async () => {
    const { clock, addMany, has } = make();
    addMany(1, 5_000);
    await clock.advance(30_000);
    addMany(10_001, 5_000);
    expect(has(1, 5_000, 15_000)).toEqual([true, true, true]);
  });

  test("after a minute only the latest are kept, after ten none", async () => {
    const { clock, addMany, has } = make();
    addMany(1, 300);
    await clock.advance(60_000);
    expect(has(44, 45, 300)).toEqual([false, true, true]);
    await clock.advance(9 * 60_000 - 1);
    expect(has(45, 300)).toEqual([true, true]);
    await clock.advance(1);
    expect(has(45, 300)).toEqual([false, false]);
  });

  test("there are never more than so many", () => {
    const { addMany, has } = make();
    addMany(1, LIMITS.exitKeptCount + 1);
    expect(has(1, 2, LIMITS.exitKeptCount + 1)).toEqual([false, true, true]);
  });

  test("of several with one tag the last is found, but none whose pid has been taken over", () => {
    const { ended, add } = make();
    for (const pid of [1, 2]) add(pid, { tag: "t" });
    expect(ended.findByTag("t")?.pid).toBe(2);
    ended.forget(2);
    expect([ended.findByPid(2), ended.findByTag("t")?.pid]).toEqual([undefined, 1]);
  });

  test("their output is bounded, the oldest goes first, and the end stays", async () => {
    const { ended, add, addMany } = make();
    const [oldest, next] = [add(1, { bytes: SIZE }).end, add(2, { bytes: SIZE }).end];
    const count = Math.floor(LIMITS.exitRetentionBytes / oldest.heldBytes);
    addMany(3, count - 1, { bytes: SIZE });
    expect([oldest.heldBytes, next.heldBytes > SIZE]).toEqual([0, true]);
    expect(await ended.findByPid(1)?.subscribe().next()).toEqual({ end: END });
  });

  test("none goes away under a reader; it counts again when he has gone", async () => {
    const { add, addMany } = make();
    const { end, reader } = add(1, { bytes: SIZE, reads: true });
    const count = Math.ceil(LIMITS.exitRetentionBytes / SIZE) + 1;
    addMany(2, count, { bytes: SIZE });
    const late = add(1_000, { bytes: SIZE }).end;
    const again = late.subscribe();
    addMany(2_000, count, { bytes: SIZE });
    expect([end.heldBytes > SIZE, late.heldBytes > SIZE]).toEqual([true, true]);
    let received = 0;
    for (let got = await reader?.next(); got; got = await reader?.next()) if ("piece" in got) received += got.piece.bytes.length;
    expect(received).toBe(SIZE);
    again.leave();
    addMany(3_000, count, { bytes: SIZE });
    expect([end.heldBytes, late.heldBytes]).toEqual([0, 0]);
  });
});
