import { expect, test } from "bun:test";
import { NotFoundError } from "@boxyard/sdk";
import { commandTools } from "./commands.ts";
import type { ToolCall } from "./tool.ts";

const input = commandTools.find(({ name }) => name === "input");

/** A session whose command has ended when its input is closed. */
function callWith(reason: string): ToolCall {
  const commands = {
    sendStdin: async () => {},
    closeStdin: async () => {
      throw new NotFoundError("no such process", { code: "not_found", reason });
    },
  };
  const command = {
    pid: 7,
    end: { exitCode: 0 },
    isFollowed: false,
    startedAt: 0,
    shown: 0,
    output: { start: 0, end: 0, read: () => new Uint8Array() },
    wait: async () => {},
  };
  const session = {
    member: async () => ({ sandbox: { commands } }),
    lookAgain: async () => {},
    commands: { find: async () => command },
  };
  return { session, signal: new AbortController().signal, progress: undefined } as unknown as ToolCall;
}

test("input that ends a command before its input is closed is no failure", async () => {
  const text = await input?.call({ pid: 7, text: "last line\n", close: true, wait_s: 0 }, callWith("process_not_found"));
  expect(text).toContain("pid 7");
});

test("a close that nothing was written before, or that fails for another reason, is a failure", async () => {
  const fails = async (text: string, reason: string) =>
    await input?.call({ pid: 7, text, close: true, wait_s: 0 }, callWith(reason)).then(
      () => "no failure",
      (error: Error) => error.message,
    );
  expect(await fails("", "process_not_found")).toBe("no such process");
  expect(await fails("last line\n", "sandbox_not_found")).toBe("no such process");
});
