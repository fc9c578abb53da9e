import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { unary } from "./support/rpc.ts";
import { collect, connect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const send = (pid: number, text: string) => unary(agent, "process.Process/SendInput", { process: { pid }, input: { stdin: btoa(text) } });
const kill = (pid: number) => unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });

/** A process that answers each line with the same line, started by a client that leaves at once. */
async function echoing(tag?: string): Promise<number> {
  const open = await start(agent, { process: { cmd: "cat" }, ...(tag === undefined ? {} : { tag }) });
  const pid = await firstPid(open);
  open.leave();
  // Time alone: nothing tells that the agent has noticed that its client left.
  await Bun.sleep(50);
  return pid;
}

describe("Connect", () => {
  test("first event is start with the same pid, by pid and by tag", async () => {
    const pid = await echoing("by-tag");
    for (const selector of [{ pid }, { tag: "by-tag" }]) {
      const open = await connect(agent, selector);
      expect(await firstPid(open)).toBe(pid);
      open.leave();
    }
    await kill(pid);
  });

  test("a client that leaves does not kill the process", async () => {
    const pid = await echoing();
    const listed = await unary(agent, "process.Process/List", {});
    expect(listed.body.processes.map((p: { pid: number }) => p.pid)).toContain(pid);
    await kill(pid);
  });

  test("output that nobody has received is replayed to the next one, and only to it", async () => {
    const pid = await echoing();
    await send(pid, "missed\n");
    // Time alone: nothing tells that what cat wrote has reached the agent.
    await Bun.sleep(50);
    const open = await connect(agent, { pid });
    await readUntil(open, (soFar) => soFar.stdout === "missed\n");
    await send(pid, "live\n");
    await readUntil(open, (soFar) => soFar.stdout === "live\n");
    open.leave();
    // Time alone: as in `echoing`.
    await Bun.sleep(50);
    const second = await connect(agent, { pid });
    await kill(pid);
    expect((await collect(second)).stdout).toBe("");
  });

  test("several at once get the same live output", async () => {
    const pid = await echoing();
    const opens = await Promise.all([1, 2, 3].map(() => connect(agent, { pid })));
    for (const open of opens) await firstPid(open);
    await send(pid, "to all\n");
    for (const open of opens) expect((await readUntil(open, (soFar) => soFar.stdout.length >= 7)).stdout).toBe("to all\n");
    await kill(pid);
    for (const open of opens) expect((await collect(open)).end.status).toBe("signal: killed");
  });

  test("our own header asks for output again from an offset, and the answer says where it begins", async () => {
    const open = await start(agent, shell("printf 0123456789; sleep 30"));
    await readUntil(open, (soFar) => soFar.stdout === "0123456789");
    const again = await connect(
      agent,
      { pid: (await unary(agent, "process.Process/List", {})).body.processes[0].pid },
      { headers: { "Boxyard-Output-Offset": "4" } },
    );
    expect(again.headers.get("Boxyard-Output-Offset")).toBe("4");
    const result = await readUntil(again, (soFar) => soFar.stdout.length === 6);
    expect(result.stdout).toBe("456789");
    await kill(result.pid);
    await collect(open);
  });

  test("an offset that is no longer held begins later, and says so", async () => {
    const open = await start(agent, shell("head -c 3000000 /dev/zero; echo end; sleep 30"));
    const { pid } = await readUntil(open, (soFar) => soFar.stdout.endsWith("end\n"));
    const again = await connect(agent, { pid }, { headers: { "Boxyard-Output-Offset": "0" } });
    const offset = Number(again.headers.get("Boxyard-Output-Offset"));
    expect(offset).toBeGreaterThan(1_000_000);
    // Whole blocks go; the rest of half a MiB is there.
    expect(3_000_004 - offset).toBeGreaterThan(450 * 1024);
    const result = await readUntil(again, (soFar) => soFar.stdout.endsWith("end\n"));
    expect(result.stdout.length).toBe(3_000_004 - offset);
    await kill(pid);
    await collect(open);
  });

  test("an offset that is no number is invalid_argument", async () => {
    const pid = await echoing();
    const result = await collect(await connect(agent, { pid }, { headers: { "Boxyard-Output-Offset": "-1" } }));
    expect(result.error?.code).toBe("invalid_argument");
    await kill(pid);
  });

  test("after the end: start, what nobody received, end; by pid and by tag", async () => {
    // Time alone: its client has left when it speaks.
    const open = await start(agent, { ...shell("sleep 0.2; echo unseen; exit 4"), tag: "ended" });
    const pid = await firstPid(open);
    open.leave();
    // Time alone: after its end a command is listed no more, but its output may still be under way.
    await Bun.sleep(700);
    const result = await collect(await connect(agent, { pid }));
    expect(result.order).toEqual(["start", "data", "end"]);
    expect([result.pid, result.stdout, result.end.exitCode]).toEqual([pid, "unseen\n", 4]);
    const later = await collect(await connect(agent, { tag: "ended" }));
    expect([later.order, later.end.exitCode]).toEqual([["start", "end"], 4]);
  });

  test("an unknown pid or tag is not_found with the contract's text", async () => {
    expect((await collect(await connect(agent, { pid: 4_000_000 }))).error).toEqual({
      code: "not_found",
      message: "process with pid 4000000 not found",
    });
    expect((await collect(await connect(agent, { tag: "none" }))).error).toEqual({
      code: "not_found",
      message: "process with tag none not found",
    });
  });

  test("of several processes with one tag the newest is found, whatever other tags there are", async () => {
    await echoing("other-tag");
    const first = await echoing("same");
    const second = await echoing("same");
    const open = await connect(agent, { tag: "same" });
    expect(await firstPid(open)).toBe(second);
    await kill(second);
    await collect(open);
    const reopened = await connect(agent, { tag: "same" });
    expect(await firstPid(reopened)).toBe(first);
    reopened.leave();
    await kill(first);
    await unary(agent, "process.Process/SendSignal", { process: { tag: "other-tag" }, signal: "SIGNAL_SIGKILL" });
  });

  test("Connect-Timeout-Ms bounds the stream, not the process", async () => {
    const pid = await echoing();
    const result = await collect(await connect(agent, { pid }, { timeoutMs: 200 }));
    expect(result.error?.code).toBe("deadline_exceeded");
    await send(pid, "still there\n");
    const open = await connect(agent, { pid });
    await readUntil(open, (soFar) => soFar.stdout === "still there\n");
    await kill(pid);
  });

  test("a silent stream gets keepalive events in the rhythm of Keepalive-Ping-Interval", async () => {
    const pid = await echoing();
    const open = await connect(agent, { pid }, { headers: { "Keepalive-Ping-Interval": "1" } });
    const names: string[] = [];
    for await (const { message } of open.envelopes) {
      names.push(Object.keys(message.event)[0] ?? "");
      if (names.length === 3) break;
    }
    expect(names).toEqual(["start", "keepalive", "keepalive"]);
    open.leave();
    await kill(pid);
  });
});

describe("readers", () => {
  test("a reader who takes nothing stalls neither the others nor, with another there, the process", async () => {
    const open = await start(agent, shell("head -c 40000000 /dev/zero; echo done >&2"));
    const pid = await firstPid(open);
    const lazy = await connect(agent, { pid });
    let bytes = 0;
    let stderr = "";
    for await (const { message } of open.envelopes) {
      const data = message.event?.data;
      if (data?.stdout) bytes += Buffer.from(data.stdout, "base64").length;
      if (data?.stderr) stderr += Buffer.from(data.stderr, "base64").toString();
    }
    expect([bytes, stderr]).toEqual([40_000_000, "done\n"]);
    lazy.leave();
  });

  test("a single slow reader gets everything: the process waits for it", async () => {
    const open = await start(agent, shell("head -c 30000000 /dev/zero | sha256sum; head -c 30000000 /dev/zero"));
    let bytes = 0;
    let reads = 0;
    for await (const { message } of open.envelopes) {
      const data = message.event?.data;
      if (data?.stdout) bytes += Buffer.from(data.stdout, "base64").length;
      if (++reads % 100 === 0) await Bun.sleep(5);
    }
    expect(bytes).toBe(30_000_000 + 68);
  });

  test("without any reader the process runs to its end", async () => {
    // Time alone: its client has left when it writes.
    const open = await start(agent, shell("sleep 0.2; head -c 50000000 /dev/zero; touch ~/ran-alone"));
    await firstPid(open);
    open.leave();
    const done = await run(agent, "for i in $(seq 100); do test -e ~/ran-alone && echo yes && break; sleep 0.1; done");
    expect(done.stdout).toBe("yes\n");
  });
});
