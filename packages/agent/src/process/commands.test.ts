import { describe, expect, test } from "bun:test";
import { mkdtempSync, openSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FakeClock, isAppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Command } from "./command.ts";
import { Commands } from "./commands.ts";
import { endStatusOf } from "./end-status.ts";
import { OutputShares } from "./output-shares.ts";

/** A command without a process behind it, and how to end it. `output`: a file whose content is what it writes. */
async function fake(
  commands: Commands,
  clock: FakeClock,
  pid: number,
  tag?: string,
  output?: string,
): Promise<{ command: Command; end: () => Promise<unknown> }> {
  let finish = (_status: number) => {};
  const ended = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const config = { cmd: "x", args: ["a"], envs: { A: "a" } };
  const describeEnd = (status: number) => endStatusOf(status);
  const command = new Command({
    pid,
    config,
    tag,
    cgroup: undefined,
    input: undefined,
    terminal: undefined,
    outputs: output === undefined ? [] : [{ fd: openSync(output, "r"), kind: "stdout" }],
    ended,
    clock,
    shares: new OutputShares(),
    describeEnd,
  });
  await commands.start(config, async () => command);
  return {
    command,
    end: () => {
      finish(0);
      return command.finished;
    },
  };
}

const missing = (look: () => unknown) => {
  expect(look).toThrow("not found");
};

describe("Commands", () => {
  test("finds what runs by pid and tag, of one tag the newest, and lists it", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const [first, second] = [await fake(commands, clock, 1, "same"), await fake(commands, clock, 2, "same")];
    expect(commands.find({ pid: 1 })).toBe(first.command);
    expect(commands.find({ tag: "same" })).toBe(second.command);
    expect(commands.list().map(({ pid }) => pid)).toEqual([1, 2]);
    missing(() => commands.find({ tag: "other" }));
  });

  test("an end stays readable for ten minutes, but is no running command", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const { command, end } = await fake(commands, clock, 1, "t");
    await end();
    missing(() => commands.find({ pid: 1 }));
    expect(commands.list()).toEqual([]);
    await clock.advance(LIMITS.exitRetentionMs - 1);
    expect([commands.findOrEnded({ pid: 1 }), commands.findOrEnded({ tag: "t" })]).toEqual([command, command]);
    await clock.advance(2);
    missing(() => commands.findOrEnded({ pid: 1 }));
  });

  test("arguments and environments of what runs are bounded together; those of what has ended, or did not start, count no more", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const part = Math.ceil(LIMITS.ordersBytes / 4);
    const order = { cmd: "x", args: ["a".repeat(part / 2)], envs: { A: "e".repeat(part / 2) } };
    const start = async (pid: number) => {
      const made = await fake(new Commands(clock), clock, pid);
      await commands.start(order, async () => made.command);
      return made;
    };
    const isRefused = (pid: number) =>
      start(pid).then(
        () => false,
        (error) => isAppError(error, "orders_full"),
      );
    const first = await start(1);
    for (const pid of [2, 3]) await start(pid);
    expect(await isRefused(4)).toBe(true);
    await first.end();
    await commands.start(order, () => Promise.reject(new Error("no"))).catch(() => {});
    expect([await isRefused(5), await isRefused(6)]).toEqual([false, true]);
    expect(commands.list().map(({ pid }) => pid)).toEqual([2, 3, 5]);
  });

  test("what was asked for is kept while the command runs, and its name after that", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const { end } = await fake(commands, clock, 1);
    expect(commands.list()[0]?.config).toEqual({ cmd: "x", args: ["a"], envs: { A: "a" } });
    await end();
    expect(commands.findOrEnded({ pid: 1 }).config).toEqual({ cmd: "x", args: [], envs: {} });
  });

  test("a new process with the same pid takes the name over", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    await (await fake(commands, clock, 1)).end();
    const again = await fake(commands, clock, 1);
    expect(commands.findOrEnded({ pid: 1 })).toBe(again.command);
    await again.end();
    expect(commands.findOrEnded({ pid: 1 })).toBe(again.command);
  });

  test("only so many ends are kept, the latest", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    for (let pid = 1; pid <= LIMITS.exitRetentionCount + 1; pid++) await (await fake(commands, clock, pid)).end();
    missing(() => commands.findOrEnded({ pid: 1 }));
    expect(commands.findOrEnded({ pid: 2 }).pid).toBe(2);
  });

  test("the output of ended commands is bounded, but none goes away under a reader", async () => {
    const dir = mkdtempSync(join(tmpdir(), "commands-"));
    try {
      const output = join(dir, "output");
      const size = 200 * 1024;
      writeFileSync(output, Buffer.alloc(size, "x"));
      const clock = new FakeClock();
      const commands = new Commands(clock);
      const [read, unread] = [await fake(commands, clock, 1, undefined, output), await fake(commands, clock, 2, undefined, output)];
      const reader = read.command.subscribe();
      await Promise.all([read.end(), unread.end()]);
      const count = Math.ceil(LIMITS.exitRetentionBytes / size) + 1;
      for (let pid = 3; pid < 3 + count; pid++) await (await fake(commands, clock, pid, undefined, output)).end();
      expect(unread.command.heldBytes).toBe(0);
      let received = 0;
      for (let next = await reader.next(); next; next = await reader.next()) if ("piece" in next) received += next.piece.bytes.length;
      expect(received).toBe(size);
    } finally {
      rmSync(dir, { recursive: true });
    }
  });
});
