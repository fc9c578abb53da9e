import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { staysTrueFor } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { envelope, type OpenStream, openStream, unary } from "./support/rpc.ts";
import { collect, connect, firstPid, readUntil, run, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const call = (method: string, message: object) => unary(agent, `process.Process/${method}`, message);
const type = (pid: number, text: string) => call("SendInput", { process: { pid }, input: { pty: Buffer.from(text).toString("base64") } });

/** A shell as public clients open one; its prompt is `> `. */
async function openShell(cols = 80, rows = 24): Promise<{ open: OpenStream; pid: number }> {
  const envs = { TERM: "xterm-256color", LANG: "C.UTF-8", LC_ALL: "C.UTF-8", PS1: "> " };
  const open = await start(agent, {
    process: { cmd: "/bin/bash", args: ["--norc", "--noprofile", "--noediting", "-i"], envs },
    pty: { size: { cols, rows } },
  });
  const pid = await firstPid(open);
  await readUntil(open, (soFar) => soFar.pty.includes("> "));
  return { open, pid };
}

/** Types a line and reads until the output of it shows `expected`. */
async function says({ open, pid }: { open: OpenStream; pid: number }, line: string, expected: string | RegExp): Promise<string> {
  await type(pid, `${line}\n`);
  const done = (text: string) => (typeof expected === "string" ? text.includes(expected) : expected.test(text));
  return (await readUntil(open, (soFar) => done(soFar.pty))).pty;
}

async function close({ open, pid }: { open: OpenStream; pid: number }): Promise<void> {
  await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
  await collect(open);
}

describe("PTY", () => {
  test("has the size asked for, is a terminal of the user's own, and the process leads its session", async () => {
    const terminal = await openShell(100, 30);
    await says(
      terminal,
      "stty size; stat -c %U:%a $(tty); echo sid $(ps -o sid= -p $$) pid $$",
      /30 100\r\nuser:620\r\nsid +(\d+) pid \1\r\n/,
    );
    await close(terminal);
  });

  test("Update resizes it, and the foreground program is told", async () => {
    const terminal = await openShell();
    await says(terminal, "sh -c 'trap \"stty size\" WINCH; echo set; while :; do sleep 0.05; done'", "\nset");
    expect((await call("Update", { process: { pid: terminal.pid }, pty: { size: { cols: 55, rows: 11 } } })).body).toEqual({});
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("11 55"));
    const refused = await call("Update", { process: { pid: terminal.pid }, pty: { size: { cols: 70_000, rows: 1 } } });
    expect(refused.body.code).toBe("invalid_argument");
    await close(terminal);
  });

  test("Update of the columns alone keeps the rows, and the other way round; without a size it changes nothing", async () => {
    const terminal = await openShell(100, 30);
    for (const [pty, size] of [
      [{ size: { cols: 90 } }, "30 90"],
      [{ size: { rows: 20 } }, "20 90"],
      [{ size: {} }, "20 90"],
      [{}, "20 90"],
    ] as const) {
      expect((await call("Update", { process: { pid: terminal.pid }, pty })).body).toEqual({});
      // The prompt may come after the echo of what is typed early.
      await says(terminal, "stty size", `${size}\r\n`);
    }
    await close(terminal);
  });

  test("StreamInput and Update reach it by its tag too", async () => {
    const open = await start(agent, { process: { cmd: "cat" }, pty: { size: { cols: 80, rows: 24 } }, tag: "terminal" });
    const pid = await firstPid(open);
    const process = { tag: "terminal" };
    expect((await call("Update", { process, pty: { size: { cols: 70 } } })).body).toEqual({});
    const typed = ["typ", "ed\n"].map((text) => envelope({ data: { input: { pty: btoa(text) } } }));
    const stream = Buffer.concat([envelope({ start: { process } }), ...typed]);
    expect((await collect(await openStream(agent, "process.Process/StreamInput", stream))).error).toBeUndefined();
    await readUntil(open, (soFar) => soFar.pty === "typed\r\ntyped\r\n");
    const size = await run(agent, `stty size < /proc/${pid}/fd/0`, { user: "root" });
    expect(size.stdout).toBe("24 70\n");
    await close({ open, pid });
  });

  test("erasing removes a whole character, not its last byte", async () => {
    const open = await start(agent, { process: { cmd: "head", args: ["-n1"] }, pty: { size: { cols: 80, rows: 24 } } });
    const pid = await firstPid(open);
    await type(pid, "a\u00fc\x7fb\n");
    const { pty } = await collect(open);
    expect(pty.endsWith("\r\nab\r\n")).toBe(true);
  });

  /** Until a command of the shell runs, what is typed is for the shell's own line editor. */
  const isRunning = async (command: string) => {
    const pgrep = { process: { cmd: "pgrep", args: ["-f", `^${command}$`] } };
    while ((await collect(await start(agent, pgrep))).stdout === "") await Bun.sleep(20);
  };

  test("control characters: Ctrl-C interrupts, Ctrl-Z stops with job control, Ctrl-D ends", async () => {
    const terminal = await openShell();
    await type(terminal.pid, "sleep 100\n");
    await isRunning("sleep 100");
    await type(terminal.pid, "\x03");
    await says(terminal, "echo code $?", "code 130");
    await type(terminal.pid, "sleep 101\n");
    await isRunning("sleep 101");
    await type(terminal.pid, "\x1a");
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("Stopped"));
    // bash's `wait` does not wait for a stopped job, and while there is one the first Ctrl-D does not end bash.
    await says(terminal, "kill %1; while [[ $(jobs -s) ]]; do sleep 0.05; done; echo no''ne", "none");
    await type(terminal.pid, "\x04");
    const result = await collect(terminal.open);
    expect(result.end.exited).toBe(true);
  });

  test("output chunks hold at most 16 KiB; multi-byte characters arrive whole across them", async () => {
    const terminal = await openShell();
    await type(terminal.pid, "stty -onlcr -echo; python3 -c 'print(\"ü€😀\" * 20000)'; echo E''ND\n");
    let text = Buffer.alloc(0);
    let largest = 0;
    for (;;) {
      const { value } = await terminal.open.envelopes.next();
      const data = Buffer.from(value?.message.event.data?.pty ?? "", "base64");
      largest = Math.max(largest, data.length);
      text = Buffer.concat([text, data]);
      if (text.includes("\nEND")) break;
    }
    expect(largest).toBeLessThanOrEqual(16 * 1024);
    expect(text.toString("utf8")).toContain(`${"ü€😀".repeat(20_000)}\n`);
    await close(terminal);
  });

  test("kill ends everything started from it", async () => {
    const terminal = await openShell();
    await says(terminal, "sleep 1211 & (setsid nohup sleep 1212 > /dev/null 2>&1 &); echo started", "\nstarted");
    await call("SendSignal", { process: { pid: terminal.pid }, signal: "SIGNAL_SIGKILL" });
    const result = await collect(terminal.open);
    expect(result.end).toEqual({ exitCode: -1, status: "signal: killed", error: "signal: killed" });
    const left = async () => (await collect(await start(agent, { process: { cmd: "pgrep", args: ["-f", "^sleep 121[12]"] } }))).stdout;
    // What was killed needs a moment to go, and PID 1 to take it.
    for (const deadline = Date.now() + 10_000; (await left()) !== "" && Date.now() < deadline; ) await Bun.sleep(20);
    expect(await left()).toBe("");
  });

  test("stdin to it is internal, CloseStdin is unknown: send Ctrl+D instead", async () => {
    const terminal = await openShell();
    expect((await call("SendInput", { process: { pid: terminal.pid }, input: { stdin: "eA==" } })).body.code).toBe("internal");
    const refused = await call("CloseStdin", { process: { pid: terminal.pid } });
    expect([refused.status, refused.body.code]).toEqual([500, "unknown"]);
    expect(refused.body.message).toContain("0x04");
    await close(terminal);
  });

  test("it stands in List, runs in a cgroup below pty, and can be connected to", async () => {
    const terminal = await openShell();
    await says(terminal, "grep ^0:: /proc/self/cgroup", /\/pty\/\d+\r\n/);
    expect((await call("List", {})).body.processes[0].pid).toBe(terminal.pid);
    terminal.open.leave();
    // Time alone: nothing tells that the agent has noticed that its client left.
    await Bun.sleep(50);
    await type(terminal.pid, "echo mis''sed\n");
    const again = await connect(agent, { pid: terminal.pid });
    await readUntil(again, (soFar) => soFar.pty.includes("\r\nmissed"));
    await close({ open: again, pid: terminal.pid });
  });

  test("a reconnect with our header gets the bytes of the screen again", async () => {
    const terminal = await openShell();
    await says(terminal, "echo on the scr''een", "\r\non the screen");
    terminal.open.leave();
    const again = await connect(agent, { pid: terminal.pid }, { headers: { "Boxyard-Output-Offset": "0" } });
    expect(again.headers.get("Boxyard-Output-Offset")).toBe("0");
    const { pty } = await readUntil(again, (soFar) => soFar.pty.includes("\r\non the screen"));
    expect(pty).toMatch(/^> echo on the scr''een\r\n.*on the screen/s);
    await close({ open: again, pid: terminal.pid });
  });

  test("a program that does not read its terminal holds up only its own sender", async () => {
    const open = await start(agent, { process: { cmd: "sleep", args: ["30"] }, pty: { size: { cols: 80, rows: 24 } } });
    const pid = await firstPid(open);
    await call("SendInput", { process: { pid }, input: { pty: btoa("x\n") } });
    const stuck = type(pid, "y".repeat(1_000_000));
    await staysTrueFor(200, "the agent answers", async () => (await fetch(`${agent.baseUrl}/health`)).status === 204);
    await call("SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await collect(open);
    expect((await stuck).body).toMatchObject({ code: "internal" });
  });

  test("a full-screen program is usable", async () => {
    const terminal = await openShell(80, 24);
    await type(terminal.pid, "top -d 0.2\n");
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("PID") && soFar.pty.includes("\x1b["));
    await type(terminal.pid, "q");
    // It throws away what is typed while it leaves; the shell's prompt comes after that.
    await readUntil(terminal.open, (soFar) => soFar.pty.endsWith("> "));
    await says(terminal, "echo le''ft", "\nleft");
    await close(terminal);
  });

  // Debian's small vim, as in the default template, or that of busybox, which every machine that runs these tests has.
  const vim = "$(command -v vim > /dev/null && echo vim -u NONE -N || echo busybox vi)";
  test("an editor is usable, also when the size changes under it: vim, or busybox vi", async () => {
    const terminal = await openShell(80, 24);
    await type(terminal.pid, `cd; ${vim} edited; echo le''ft $?\n`);
    await readUntil(terminal.open, (soFar) => (soFar.pty.match(/~/g) ?? []).length >= 20);
    await call("Update", { process: { pid: terminal.pid }, pty: { size: { cols: 60, rows: 12 } } });
    await type(terminal.pid, "ione\rtw\u00f6 \u{1f600}");
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("\u{1f600}"));
    await type(terminal.pid, "\x1b");
    // Both say something in the last line when they have taken it; what comes with it could be read as a key that sends Escape first.
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("\x1b[12;1H"));
    await type(terminal.pid, "yyp:wq\r");
    await readUntil(terminal.open, (soFar) => soFar.pty.includes("left 0"));
    await says(terminal, "cat edited; stty size; rm edited", "one\r\ntw\u00f6 \u{1f600}\r\ntw\u00f6 \u{1f600}\r\n12 60");
    await close(terminal);
  });

  test("a size of nothing is 80 by 24", async () => {
    const message = { process: { cmd: "stty", args: ["size"] }, pty: {} } as unknown as Parameters<typeof start>[1];
    expect((await collect(await start(agent, message))).pty).toBe("24 80\r\n");
  });
});
