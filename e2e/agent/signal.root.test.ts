import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { unary } from "./support/rpc.ts";
import { collect, connect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const signal = (pid: number, name: string | number) => unary(agent, "process.Process/SendSignal", { process: { pid }, signal: name });
const isAlive = async (pattern: string) =>
  (await run(agent, `pgrep -f '${pattern}' > /dev/null && echo yes || echo no`, { user: "root" })).stdout === "yes\n";
/** Waits until none is left: what was killed needs a moment to go, and PID 1 to take it. */
async function isGone(pattern: string): Promise<boolean> {
  for (const deadline = Date.now() + 10_000; (await isAlive(pattern)) && Date.now() < deadline; ) await Bun.sleep(20);
  return !(await isAlive(pattern));
}

describe("SendSignal", () => {
  test("SIGKILL ends the whole tree, and the end comes at once although grandchildren held the output", async () => {
    const open = await start(agent, shell("setsid sleep 1111 & (sleep 1112 & sleep 1113); echo done"));
    const pid = await firstPid(open);
    await eventually("its children run", async () => (await isAlive("^sleep 1111")) && (await isAlive("^sleep 1113")));
    expect((await signal(pid, "SIGNAL_SIGKILL")).body).toEqual({});
    const result = await collect(open);
    expect(result.end).toEqual({ exitCode: -1, status: "signal: killed", error: "signal: killed" });
    expect(await isGone("^sleep 111[123]")).toBe(true);
  });

  test("the end comes soon although a reader takes nothing, and another one gets it", async () => {
    const stuck = await start(agent, { process: { cmd: "yes" }, tag: "stuck" });
    const pid = await firstPid(stuck);
    const progress = async () => (await run(agent, `cat /proc/${pid}/io | grep wchar`, { user: "root" })).stdout;
    // Until the connection, the log and the pipe are full.
    for (let [last, now] = ["", await progress()]; last !== now; [last, now] = [now, await progress()]) await Bun.sleep(100);
    await signal(pid, "SIGNAL_SIGKILL");
    const deadline = Date.now() + 10_000;
    while (((await unary(agent, "process.Process/List", {})).body.processes ?? []).length > 0 && Date.now() < deadline) await Bun.sleep(20);
    expect((await unary(agent, "process.Process/List", {})).body).toEqual({});
    expect((await collect(await connect(agent, { pid }))).end.status).toBe("signal: killed");
    stuck.leave();
  });

  test("SIGTERM goes to the process alone; then its end comes at once too", async () => {
    const open = await start(agent, shell("sleep 1114 & echo started; wait; echo done"));
    const { pid } = await readUntil(open, (soFar) => soFar.stdout === "started\n");
    while (!(await isAlive("^sleep 1114"))) await Bun.sleep(20);
    await signal(pid, "SIGNAL_SIGTERM");
    const result = await collect(open);
    expect(result.end).toEqual({ exitCode: -1, status: "signal: terminated", error: "signal: terminated" });
    expect(await isAlive("^sleep 1114")).toBe(true);
    await run(agent, "pkill -f '^sleep 1114'", { user: "root" });
  });

  test("SIGTERM can be handled, and the output of the handler still arrives", async () => {
    const open = await start(agent, shell("trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done"));
    const pid = await firstPid(open);
    await readUntil(open, (soFar) => soFar.stdout === "ready\n");
    await signal(pid, "SIGNAL_SIGTERM");
    const result = await collect(open);
    expect([result.stdout, result.end.exitCode]).toEqual(["bye\n", 5]);
  });

  test("signals by number are taken; other ones are unimplemented", async () => {
    const open = await start(agent, shell("sleep 30"));
    const pid = await firstPid(open);
    for (const other of [0, 2, 64, "SIGNAL_UNSPECIFIED"]) {
      const refused = await signal(pid, other);
      expect([refused.status, refused.body.code]).toEqual([501, "unimplemented"]);
    }
    expect((await signal(pid, 9)).status).toBe(200);
    await collect(open);
  });

  test("an unknown pid, and one that has ended, is not_found", async () => {
    const missing = await signal(4_000_000, "SIGNAL_SIGKILL");
    expect([missing.status, missing.body]).toEqual([404, { code: "not_found", message: "process with pid 4000000 not found" }]);
    const ended = await run(agent, "true");
    expect((await signal(ended.pid, "SIGNAL_SIGKILL")).status).toBe(404);
  });
});

describe("Start's Connect-Timeout-Ms", () => {
  test("bounds the process: at the deadline its whole tree is killed and the stream ends with deadline_exceeded", async () => {
    const startedAt = performance.now();
    const result = await collect(await start(agent, shell("setsid sleep 1115 & sleep 1116"), { timeoutMs: 400 }));
    const elapsed = performance.now() - startedAt;
    expect(result.error?.code).toBe("deadline_exceeded");
    expect(elapsed).toBeGreaterThan(350);
    expect(await isGone("^sleep 111[56]")).toBe(true);
  });

  test("kills the process also when the client has left, and other clients see how it ended", async () => {
    const open = await start(agent, shell("sleep 1117"), { timeoutMs: 2_000 });
    const pid = await firstPid(open);
    const other = await connect(agent, { pid });
    open.leave();
    const result = await collect(other);
    expect(result.end.status).toBe("signal: killed");
  });

  test("bounds a terminal's process in the same way", async () => {
    const message = { ...shell("setsid sleep 1118 & sleep 1119"), pty: { size: { cols: 80, rows: 24 } } };
    const result = await collect(await start(agent, message, { timeoutMs: 400 }));
    expect([result.error?.code, result.end]).toEqual(["deadline_exceeded", undefined]);
    expect(await isGone("^sleep 111[89]")).toBe(true);
  });

  test("ends with the process: processes that it has left running outlive the deadline", async () => {
    const open = await start(agent, shell("setsid sleep 1120 > /dev/null 2>&1 & exit 3"), { timeoutMs: 400 });
    const { pid, end } = await collect(open);
    expect([pid > 0, end.exitCode]).toEqual([true, 3]);
    // A deadline set after that one has passed once this process, started later with the same, has met its own.
    expect((await collect(await start(agent, shell("sleep 1121"), { timeoutMs: 400 }))).error?.code).toBe("deadline_exceeded");
    expect(await isAlive("^sleep 1120")).toBe(true);
    await run(agent, "pkill -f '^sleep 1120'", { user: "root" });
  });

  test("0 and absent mean none; longer than the end of the process changes nothing", async () => {
    // Time alone: longer than a limit of 0 lets it be.
    expect((await run(agent, "sleep 0.3; echo ok", { headers: { "Connect-Timeout-Ms": "0" } })).stdout).toBe("ok\n");
    expect((await run(agent, "echo ok", { timeoutMs: 9_999_999_999 })).end.status).toBe("exit status 0");
  });

  test("what is no number of up to ten digits is invalid_argument", async () => {
    for (const text of ["abc", "-1", "1.5", "12345678901", "1s"]) {
      const result = await run(agent, "true", { headers: { "Connect-Timeout-Ms": text } });
      expect(result.error?.code).toBe("invalid_argument");
      expect(result.order).toEqual([]);
    }
  });
});

describe("List", () => {
  test("pid, tag, cmd, args, envs and cwd of what runs, as the request had them; nothing that has ended", async () => {
    const message = { process: { cmd: "sleep", args: ["30"], envs: { A: "b" }, cwd: "/tmp" }, tag: "listed" };
    const open = await start(agent, message);
    const pid = await firstPid(open);
    expect((await unary(agent, "process.Process/List", {})).body).toEqual({ processes: [{ config: message.process, pid, tag: "listed" }] });
    await signal(pid, "SIGNAL_SIGKILL");
    await collect(open);
    expect((await unary(agent, "process.Process/List", {})).body).toEqual({});
  });
});
