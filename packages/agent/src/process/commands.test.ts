import { describe, expect, test } from "bun:test";
import { FakeClock, isAppError } from "@boxyard/core";
import { LIMITS } from "../limits.ts";
import { Command } from "./command.ts";
import { Commands, type Readable } from "./commands.ts";
import { endStatusOf } from "./end-status.ts";
import { OutputShares } from "./output-shares.ts";

/** A command without a process, and a function that ends it. */
async function fake(
  commands: Commands,
  clock: FakeClock,
  pid: number,
  tag?: string,
): Promise<{ command: Command; end: (exitCode?: number) => Promise<unknown> }> {
  let finish = (_status: number) => {};
  const ended = new Promise<number>((resolve) => {
    finish = resolve;
  });
  const config = { cmd: "x", args: ["a"], envs: { A: "a" } };
  // Refers to `config`, as the agent's own function does.
  const describeEnd = (status: number) => endStatusOf(status, config.cmd === "" ? "none" : undefined);
  const command = new Command({
    pid,
    config,
    tag,
    cgroup: undefined,
    input: undefined,
    terminal: undefined,
    outputs: [],
    ended,
    clock,
    shares: new OutputShares(),
    describeEnd,
  });
  await commands.start(config, async () => command);
  return {
    command,
    end: (exitCode = 0) => {
      finish(exitCode << 8);
      return command.finished;
    },
  };
}

/** What a new reader gets first. */
async function firstOf(readable: Readable): Promise<string> {
  const delivery = await readable.subscribe().next();
  if (!delivery) return "nothing";
  return "end" in delivery ? `end ${delivery.end.status}` : "output";
}

const missing = (look: () => unknown) => {
  expect(look).toThrow("not found");
};

describe("Commands", () => {
  test("finds running commands by pid and tag, the newest of one tag, and lists them", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const [first, second] = [await fake(commands, clock, 1, "same"), await fake(commands, clock, 2, "same")];
    expect(commands.find({ pid: 1 })).toBe(first.command);
    expect(commands.find({ tag: "same" })).toBe(second.command);
    expect(commands.list().map(({ pid }) => pid)).toEqual([1, 2]);
    missing(() => commands.find({ tag: "other" }));
  });

  test("an ended command can be read for ten minutes, and is not among the running ones", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const { end } = await fake(commands, clock, 1, "t");
    await end();
    missing(() => commands.find({ pid: 1 }));
    expect(commands.list()).toEqual([]);
    await clock.advance(LIMITS.exitRetentionMs - 1);
    expect([commands.findOrEnded({ pid: 1 }).pid, commands.findOrEnded({ tag: "t" }).pid]).toEqual([1, 1]);
    await clock.advance(2);
    missing(() => commands.findOrEnded({ pid: 1 }));
  });

  test("arguments and environments of running commands are bounded together; ended commands and failed starts do not count", async () => {
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

  test("the order of a command is in memory only while the command runs", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    const orders: WeakRef<object>[] = [];
    const held = () => {
      Bun.gc(true);
      return orders.filter((order) => order.deref()).length;
    };
    const started: Awaited<ReturnType<typeof fake>>[] = [];
    for (let pid = 1; pid <= 50; pid++) started.push(await fake(commands, clock, pid));
    orders.push(...started.map(({ command }) => new WeakRef(command.config)));
    expect([held(), commands.list()[0]?.config]).toEqual([50, { cmd: "x", args: ["a"], envs: { A: "a" } }]);
    await Promise.all(started.map(({ end }) => end()));
    started.length = 0;
    await Bun.sleep(0);
    // The garbage collector may take words on the stack for references.
    expect(held()).toBeLessThan(10);
    expect(commands.findOrEnded({ pid: 1 }).pid).toBe(1);
  });

  test("a new command with the pid of an ended one replaces it", async () => {
    const clock = new FakeClock();
    const commands = new Commands(clock);
    await (await fake(commands, clock, 1)).end(1);
    const again = await fake(commands, clock, 1);
    expect(commands.findOrEnded({ pid: 1 })).toBe(again.command);
    await again.end(2);
    expect(await firstOf(commands.findOrEnded({ pid: 1 }))).toBe("end exit status 2");
  });
});
