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

/** Of a command without a process behind it, without input and output. */
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

/** A command without a process behind it, whose output is what is written to a pipe: by it, or by others who hold it open as well. */
function withOutput(clock: Clock): { command: Command; write: number; end: () => void } {
  const pipe = makePipe("read");
  const ended = Promise.withResolvers<number>();
  const command = new Command({
    ...NOTHING,
    // What ends it is the cgroup.
    cgroup: { path: "", kill: () => true, remove() {} } as unknown as CommandCgroup,
    outputs: [{ fd: pipe.read, kind: "stdout" }],
    ended: ended.promise,
    clock,
  });
  return { command, write: pipe.write, end: () => ended.resolve(0) };
}

/** All that a reader gets, as text, until the end. */
async function readAll(reader: Reader<EndStatus>): Promise<string> {
  let text = "";
  for (let next = await reader.next(); next; next = await reader.next())
    if ("piece" in next) text += Buffer.from(next.piece.bytes).toString();
  return text;
}

const turn = () => new Promise<void>((resolve) => setImmediate(resolve));

test("output that cannot be read is told with the end, whether it is looked for before or at it", async () => {
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

/** The command has given its descriptor up. */
async function eventuallyClosed(fd: number): Promise<void> {
  while (existsSync(`/proc/self/fd/${fd}`)) await turn();
}

describe("the output of a command that ends before anybody looks for it", () => {
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

  test("is all there at its end", async () => {
    expect((await ofPipe("", { heldOpen: false })).got).toBe("");
    expect((await ofPipe("all of it", { heldOpen: false })).got).toBe("all of it");
    const full = "x".repeat(65_536);
    expect((await ofPipe(full, { heldOpen: false })).got).toBe(full);
  });

  test("is all there although others hold it open, who then never meet a closed or full pipe", async () => {
    const { got, more, close } = await ofPipe("all of it", { heldOpen: true });
    expect(got).toBe("all of it");
    for (let i = 0; i < 20_000; i++) {
      more();
      if (i % 1000 === 0) await turn();
    }
    close();
  });
});

describe("the end of a command whose output others hold open", () => {
  test("is not told before what it wrote has come through, however late that is", async () => {
    const clock = new FakeClock();
    const { command, write, end } = withOutput(clock);
    try {
      const reader = command.subscribe();
      // Timers are served in the order of their times: from here on its output is watched.
      // Time alone: real timers are what this is about.
      await Bun.sleep(LIMITS.unwatchedMs + 1);
      for (let i = 0; i < 5; i++) await turn();
      writeSync(write, "last words");
      end();
      // Time goes by and timers are served, but nothing that the kernel has to tell.
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

  test("comes soon after a kill although a reader takes nothing, and keeps all that was written", async () => {
    const { command, write, end } = withOutput(systemClock);
    libc().fcntl(write, F_SETFL, O_NONBLOCK);
    try {
      const reader = command.subscribe();
      const written = await fill(write);
      // Only now there is more than may wait for a reader.
      expect(written).toBeGreaterThan(LIMITS.readerLagBytes);
      command.kill();
      end();
      await command.finished;
      expect((await readAll(reader)).length).toBe(written);
    } finally {
      closeSync(write);
    }
  });

  test("is told a while after a signal although they write on and on", async () => {
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

/** Bytes written to a descriptor that may not take them now. */
function trySome(fd: number): number {
  try {
    return writeSync(fd, Buffer.alloc(4096, "x"));
  } catch {
    return 0;
  }
}

/** Writes until nothing has been taken for a while. Returns how much was. */
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

/** A command without a process behind it, whose input takes what it gets when `take` resolves. */
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
  /** What is told and done, of a command whose end comes before or after its deadline is set. */
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
    // A later timer that is as long is served later.
    // Time alone: real timers are what this is about.
    await new Promise((resolve) => setTimeout(resolve, 1));
    ended.resolve(0);
    await command.finished;
    return told;
  }

  test("kills what runs, and leaves alone what a command has left running that ended before it was set", async () => {
    expect(await outcome(false)).toEqual(["deadline", "killed"]);
    expect(await outcome(true)).toEqual([]);
  });
});

test("an end after a SIGTERM that the command survived is its own: only a kill of ours explains a SIGKILL", async () => {
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
