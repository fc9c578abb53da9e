import { describe, expect, spyOn, test } from "bun:test";
import { closeSync, existsSync, openSync, writeSync } from "node:fs";
import { type Clock, FakeClock, systemClock } from "@boxyard/core";
import type { CommandCgroup } from "../cgroup/command-cgroups.ts";
import { LIMITS } from "../limits.ts";
import { libc, makePipe } from "../sys/native.ts";
import type { Reader } from "./broadcast.ts";
import { Command } from "./command.ts";
import { type EndStatus, endStatusOf } from "./end-status.ts";
import type { InputQueue } from "./input-queue.ts";
import { OutputShares } from "./output-shares.ts";

/** No process has this number. */
const PID = 0x7fff_fff0;

/** Parts of a command without a process, input and output. */
const NOTHING = {
  pid: PID,
  config: { cmd: "x", args: [], envs: {} },
  tag: undefined,
  cgroup: undefined,
  input: undefined,
  terminal: undefined,
  outputs: [],
  clock: systemClock,
  shares: new OutputShares(),
  describeEnd: (status: number) => endStatusOf(status),
};

/** A command without a process; its output is what the test writes to a pipe. */
function withOutput(clock: Clock): { command: Command; write: number; end: () => void } {
  const pipe = makePipe("read");
  const ended = Promise.withResolvers<number>();
  const command = new Command({
    ...NOTHING,
    // A kill only calls the cgroup.
    cgroup: { path: "", kill: () => true, remove() {} } as unknown as CommandCgroup,
    outputs: [{ fd: pipe.read, kind: "stdout" }],
    ended: ended.promise,
    clock,
  });
  return { command, write: pipe.write, end: () => ended.resolve(0) };
}

/** The output that a reader gets until the end, as text. */
async function readAll(reader: Reader<EndStatus>): Promise<string> {
  let text = "";
  for (let next = await reader.next(); next; next = await reader.next())
    if ("piece" in next) text += Buffer.from(next.piece.bytes).toString();
  return text;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("output that cannot be read is reported in the end's error, whether it is first read before or at the end", async () => {
  const error = "exit status 0 (a part of its output is lost: EISDIR)";
  for (const begins of [false, true]) {
    const ended = Promise.withResolvers<number>();
    const fd = openSync("/", "r");
    const command = new Command({ ...NOTHING, outputs: [{ fd, kind: "stdout" }], ended: ended.promise });
    if (begins) await eventuallyClosed(fd);
    ended.resolve(0);
    expect(await command.finished).toEqual({ exitCode: 0, exited: true, status: "exit status 0", error });
  }
});

/** Waits until the command has closed its descriptor. */
async function eventuallyClosed(fd: number): Promise<void> {
  while (existsSync(`/proc/self/fd/${fd}`)) await turn();
}

describe("the output of a command that ends before it is first read", () => {
  const ofPipe = async (text: string, { heldOpen }: { heldOpen: boolean }) => {
    const { command, write, end } = withOutput(systemClock);
    const reader = command.subscribe();
    writeSync(write, text);
    if (!heldOpen) closeSync(write);
    end();
    await command.finished;
    const got = await readAll(reader);
    return { got, more: () => writeSync(write, "more"), close: () => heldOpen && closeSync(write) };
  };

  test("is complete at the end", async () => {
    expect((await ofPipe("", { heldOpen: false })).got).toBe("");
    expect((await ofPipe("all of it", { heldOpen: false })).got).toBe("all of it");
    const full = "x".repeat(65_536);
    expect((await ofPipe(full, { heldOpen: false })).got).toBe(full);
  });

  test("is complete although other processes hold it open, and their later writes never fail or block", async () => {
    const { got, more, close } = await ofPipe("all of it", { heldOpen: true });
    expect(got).toBe("all of it");
    for (let i = 0; i < 20_000; i++) {
      more();
      if (i % 1000 === 0) await turn();
    }
    close();
  });
});

describe("the end of a command whose output other processes hold open", () => {
  test("is not reported before the command's output was read, however late that is", async () => {
    const clock = new FakeClock();
    const { command, write, end } = withOutput(clock);
    try {
      const reader = command.subscribe();
      // Timers fire in the order of their times: from here on the output is read.
      // Time alone: real timers are what this is about.
      await Bun.sleep(LIMITS.unwatchedMs + 1);
      for (let i = 0; i < 5; i++) await turn();
      writeSync(write, "last words");
      end();
      // Time advances and timers fire, but the event loop does not poll the descriptors.
      for (let i = 0; i < 10; i++) await clock.advance(LIMITS.drain.maxMs);
      expect(command.isRunning).toBe(true);
      const text = readAll(reader);
      for (let i = 0; i < 1_000 && command.isRunning; i++) {
        await turn();
        await clock.advance(10);
      }
      expect([command.isRunning, await text]).toEqual([false, "last words"]);
    } finally {
      closeSync(write);
    }
  });

  test("is reported soon after a kill although a reader receives nothing, and no output is lost", async () => {
    const { command, write, end } = withOutput(systemClock);
    libc().fcntl(write, F_SETFL, O_NONBLOCK);
    try {
      const reader = command.subscribe();
      const written = await fill(write);
      // More than a reader may be behind.
      expect(written).toBeGreaterThan(LIMITS.readerLagBytes);
      command.kill();
      end();
      await command.finished;
      expect((await readAll(reader)).length).toBe(written);
    } finally {
      closeSync(write);
    }
  });

  test("is reported soon after a signal although other processes go on writing", async () => {
    const { command, write, end } = withOutput(systemClock);
    libc().fcntl(write, F_SETFL, O_NONBLOCK);
    const chatter = setInterval(() => trySome(write), 5);
    try {
      command.kill();
      end();
      await command.finished;
    } finally {
      clearInterval(chatter);
      closeSync(write);
    }
  });
});

const F_SETFL = 4;
const O_NONBLOCK = 0o4000;

/** Writes to a non-blocking descriptor; returns how many bytes it took. */
function trySome(fd: number): number {
  try {
    return writeSync(fd, Buffer.alloc(4096, "x"));
  } catch {
    return 0;
  }
}

/** Writes until the descriptor takes nothing for a while. Returns how many bytes it took. */
async function fill(fd: number): Promise<number> {
  let written = 0;
  for (let idle = 0; idle < 50; idle++) {
    for (let taken = trySome(fd); taken > 0; taken = trySome(fd)) {
      written += taken;
      idle = 0;
    }
    await Bun.sleep(1);
  }
  return written;
}

/** A command without a process, whose input has taken what it gets when `take` resolves. */
function withInput(take: Promise<void>): { command: Command; end: () => void } {
  let end = () => {};
  const ended = new Promise<number>((resolve) => {
    end = () => resolve(0);
  });
  const input = { write: () => take, discard() {}, close() {} } as unknown as InputQueue;
  const command = new Command({ ...NOTHING, input, ended });
  return { command, end };
}

describe("the deadline of a command", () => {
  /** The calls for a command that ends before or after its deadline is set. */
  async function outcome(endsBefore: boolean): Promise<string[]> {
    const told: string[] = [];
    const ended = Promise.withResolvers<number>();
    const command = new Command({
      ...NOTHING,
      cgroup: { path: "", kill: () => told.push("killed"), remove() {} } as unknown as CommandCgroup,
      ended: ended.promise,
    });
    if (endsBefore) ended.resolve(0);
    for (let i = 0; i < 5; i++) await turn();
    command.killAfter(0, () => told.push("deadline"));
    // Of two timers of the same length the later one fires later.
    // Time alone: real timers are what this is about.
    await new Promise((resolve) => setTimeout(resolve, 1));
    ended.resolve(0);
    await command.finished;
    return told;
  }

  test("kills a running command, and not the processes that a command left which ended before the deadline was set", async () => {
    expect(await outcome(false)).toEqual(["deadline", "killed"]);
    expect(await outcome(true)).toEqual([]);
  });
});

test("only kill marks an end as killed, terminate does not", async () => {
  const wasKilled = async (act: (command: Command) => void) => {
    const ended = Promise.withResolvers<number>();
    let told: boolean | undefined;
    const command = new Command({
      ...NOTHING,
      cgroup: { path: "", kill: () => true, remove() {} } as unknown as CommandCgroup,
      ended: ended.promise,
      describeEnd: (status, killed) => {
        told = killed;
        return endStatusOf(status);
      },
    });
    act(command);
    ended.resolve(9);
    await command.finished;
    return told;
  };
  expect(await wasKilled((command) => command.terminate())).toBe(false);
  expect(await wasKilled((command) => command.kill())).toBe(true);
});

const bytes = Buffer.from("x");

describe("Command.sendInput", () => {
  test("rejects input that was not taken before the end", async () => {
    const { command, end } = withInput(new Promise(() => {}));
    const sent = [command.sendInput("stdin", bytes), command.sendInput("stdin", bytes)];
    end();
    for (const { status, reason } of (await Promise.allSettled(sent)) as PromiseRejectedResult[]) {
      expect([status, reason.reason]).toEqual(["rejected", "input_closed"]);
    }
  });

  test("adds no callback to the promise of the end", async () => {
    const { command } = withInput(Promise.resolve());
    const then = spyOn(command.finished, "then");
    for (let i = 0; i < 100; i++) await command.sendInput("stdin", bytes);
    expect(then).not.toHaveBeenCalled();
  });

  test("rejects with the error of a failed write", async () => {
    const { command } = withInput(Promise.reject(new Error("broken pipe")));
    await expect(command.sendInput("stdin", bytes)).rejects.toThrow("broken pipe");
  });
});
