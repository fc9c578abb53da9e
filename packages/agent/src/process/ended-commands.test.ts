import { fullGC, heapStats } from "bun:jsc";
import { describe, expect, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Broadcast } from "./broadcast.ts";
import type { EndStatus } from "./end-status.ts";
import { EndedCommand, EndedCommands } from "./ended-commands.ts";

const END: EndStatus = { exitCode: 0, exited: true, status: "exit status 0" };
const SIZE = 200 * 1024;

/** Adds ended commands by pid, with a number of bytes as their last output. */
function make() {
  const clock = new FakeClock();
  const ended = new EndedCommands(clock);
  const add = (pid: number, { tag, bytes = 0, reads = false }: { tag?: string; bytes?: number; reads?: boolean } = {}) => {
    const output = new Broadcast<EndStatus>(clock);
    const reader = reads ? output.subscribe() : undefined;
    output.append("stdout", new Uint8Array(bytes));
    output.finish(END);
    const end = new EndedCommand(pid, tag, output, clock);
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
  test("an end is found for the 30 s of the contract, among any number of others", async () => {
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

  test("there are never more than exitKeptCount", () => {
    const { addMany, has } = make();
    addMany(1, LIMITS.exitKeptCount + 1);
    expect(has(1, 2, LIMITS.exitKeptCount + 1)).toEqual([false, true, true]);
  });

  test("expired ends are removed without any call, and the timer stops when none is left", async () => {
    const { clock, ended, addMany } = make();
    addMany(1, 5_000);
    await clock.advance(2 * LIMITS.exitKeptMs);
    expect(ended.count).toBe(LIMITS.exitRetentionCount);
    await clock.advance(LIMITS.exitRetentionMs);
    expect(ended.count).toBe(0);
    addMany(1, 1);
    await clock.advance(LIMITS.exitRetentionMs + LIMITS.exitKeptMs);
    expect(ended.count).toBe(0);
  });

  test("small outputs without readers are packed: thousands of them are not thousands of sets and buffers", () => {
    const { ended, add } = make();
    const kinds = () => {
      fullGC();
      const { Set: sets = 0, Uint8Array: arrays = 0 } = heapStats().objectTypeCounts as Record<string, number>;
      return sets + arrays;
    };
    const before = kinds();
    for (let pid = 1; pid <= 3_000; pid++) add(pid, { bytes: 6 });
    expect(kinds() - before).toBeLessThan(500);
    expect(ended.count).toBe(3_000);
  });

  test("a packed command is read like another, from any offset, and repeatedly", async () => {
    const { clock, ended, add } = make();
    const output = new Broadcast<EndStatus>(clock);
    output.append("stdout", Buffer.from("one "));
    const first = output.subscribe();
    await first.next();
    void first.next();
    output.append("stderr", Buffer.from([0xff, 0]));
    output.finish(END);
    first.leave();
    ended.add(new EndedCommand(7, undefined, output, clock));
    add(8);
    const read = async (offset?: number) => {
      const deliveries: unknown[] = [];
      const reader = ended.findByPid(7)?.subscribe(offset);
      for (let got = await reader?.next(); got; got = await reader?.next())
        deliveries.push("piece" in got ? [got.piece.kind, ...got.piece.bytes] : got.end);
      return deliveries;
    };
    const one = ["stdout", ...Buffer.from("one ")];
    const two = ["stderr", 0xff, 0];
    // Nobody has taken the second piece.
    expect(await read()).toEqual([two, END]);
    expect(await read(0)).toEqual([one, two, END]);
    expect(await read(5)).toEqual([["stderr", 0], END]);
    expect(await read()).toEqual([END]);
  });

  test("the last of one tag is found, but no command whose pid was reused", () => {
    const { ended, add } = make();
    for (const pid of [1, 2]) add(pid, { tag: "t" });
    expect(ended.findByTag("t")?.pid).toBe(2);
    ended.forget(2);
    expect([ended.findByPid(2), ended.findByTag("t")?.pid]).toEqual([undefined, 1]);
  });

  test("the bytes of output are bounded: the oldest output is dropped first, its end stays", async () => {
    const { ended, add, addMany } = make();
    const [oldest, next] = [add(1, { bytes: SIZE }).end, add(2, { bytes: SIZE }).end];
    const count = Math.floor(LIMITS.exitRetentionBytes / oldest.heldBytes);
    addMany(3, count - 1, { bytes: SIZE });
    expect([oldest.heldBytes, next.heldBytes > SIZE]).toEqual([0, true]);
    expect(await ended.findByPid(1)?.subscribe().next()).toEqual({ end: END });
  });

  test("output with a reader is not dropped; it counts again when the reader has left", async () => {
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
