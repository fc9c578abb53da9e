import { describe, expect, spyOn, test } from "bun:test";
import { FakeClock } from "@boxyard/core";
import { Command } from "./command.ts";
import { endStatusOf } from "./end-status.ts";
import type { InputQueue } from "./input-queue.ts";

/** A command without a process behind it, whose input takes what it gets when `take` resolves. */
function withInput(take: Promise<void>): { command: Command; end: () => void } {
  let end = () => {};
  const ended = new Promise<number>((resolve) => {
    end = () => resolve(0);
  });
  const input = { write: () => take, discard() {}, close() {} } as unknown as InputQueue;
  const command = new Command({
    pid: 1,
    config: { cmd: "x", args: [], envs: {} },
    tag: undefined,
    cgroup: undefined,
    input,
    terminal: undefined,
    outputs: [],
    ended,
    clock: new FakeClock(),
    describeEnd: (status) => endStatusOf(status),
  });
  return { command, end };
}

const bytes = Buffer.from("x");

describe("Command.sendInput", () => {
  test("rejects at the end what nobody took", async () => {
    const { command, end } = withInput(new Promise(() => {}));
    const sent = [command.sendInput("stdin", bytes), command.sendInput("stdin", bytes)];
    end();
    for (const { status, reason } of (await Promise.allSettled(sent)) as PromiseRejectedResult[]) {
      expect([status, reason.reason]).toEqual(["rejected", "input_closed"]);
    }
  });

  test("leaves nothing behind at the promise of the end", async () => {
    const { command } = withInput(Promise.resolve());
    const then = spyOn(command.finished, "then");
    for (let i = 0; i < 100; i++) await command.sendInput("stdin", bytes);
    expect(then).not.toHaveBeenCalled();
  });

  test("a write that fails is told as it is", async () => {
    const { command } = withInput(Promise.reject(new Error("broken pipe")));
    await expect(command.sendInput("stdin", bytes)).rejects.toThrow("broken pipe");
  });
});
