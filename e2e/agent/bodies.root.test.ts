import { afterAll, beforeAll, describe, expect, setDefaultTimeout, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { rounds } from "./support/dice.ts";
import { AGENT_PID, asRoot } from "./support/files.ts";
import { unary } from "./support/rpc.ts";
import { collect, firstPid, run, start } from "./support/run.ts";

setDefaultTimeout(60_000);

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const MIB = 1024 * 1024;
const peakMiB = async () => Number(await asRoot(agent, `${AGENT_PID}; awk '/VmHWM/{print $2}' /proc/$pid/status`)) / 1024;

describe("bodies that are held whole", () => {
  test("however many large ones come at once, the agent's memory stays bounded, small requests are served, and nothing is kept", async () => {
    const open = await start(agent, { process: { cmd: "sleep", args: ["300"] } });
    const pid = await firstPid(open);
    const before = await peakMiB();
    const body = JSON.stringify({ process: { pid }, input: { stdin: Buffer.alloc(24 * MIB).toString("base64") } });
    const refused: number[] = [];
    const sent = Array.from({ length: 12 }, async () => {
      const { status } = await unary(agent, "process.Process/SendInput", body);
      refused.push(status);
      return status;
    });
    // The agent holds as much as it may: the process never reads its input.
    await eventually("the others are refused", () => refused.length === 10, { withinMs: 45_000 });
    expect(new Set(refused)).toEqual(new Set([429]));
    expect((await run(agent, "echo served")).stdout).toBe("served\n");
    expect((await fetch(`${agent.baseUrl}/metrics`, { headers: authorised(agent) })).status).toBe(200);
    await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
    await collect(open);
    expect((await Promise.all(sent)).filter((status) => status !== 429)).toEqual([500, 500]);
    expect((await peakMiB()) - before).toBeLessThan(600);
    const cat = await start(agent, { process: { cmd: "sh", args: ["-c", "wc -c"] } });
    const again = { process: { pid: await firstPid(cat) }, input: { stdin: Buffer.alloc(24 * MIB).toString("base64") } };
    expect((await unary(agent, "process.Process/SendInput", again)).status).toBe(200);
    await unary(agent, "process.Process/CloseStdin", { process: again.process });
    expect((await collect(cat)).stdout).toBe(`${24 * MIB}\n`);
  });

  test("answers to clients that leave, at any moment, are freed", async () => {
    await asRoot(agent, "mkdir /home/user/many && cd /home/user/many && seq 1 20000 | xargs touch");
    const list = (signal: AbortSignal) => {
      const headers = { ...authorised(agent), "Content-Type": "application/json" };
      return fetch(`${agent.baseUrl}/filesystem.Filesystem/ListDir`, { method: "POST", headers, body: '{"path":"many"}', signal });
    };
    await rounds(async (dice) => {
      const leaving = new AbortController();
      const listing = list(leaving.signal).then(async (response) => {
        const reader = response.body?.getReader();
        for (let i = dice.below(4); i > 0; i--) await reader?.read();
        leaving.abort();
      });
      await Promise.race([listing, Bun.sleep(dice.below(300))]);
      leaving.abort();
      await listing.catch(() => {});
    });
    // These two messages fit only if no listing of a client that left is still held.
    const cat = await start(agent, { process: { cmd: "wc", args: ["-c"] } });
    const process = { pid: await firstPid(cat) };
    const input = { stdin: Buffer.alloc(47 * MIB).toString("base64") };
    const both = await Promise.all([1, 2].map(() => unary(agent, "process.Process/SendInput", { process, input })));
    expect(both.map(({ status }) => status)).toEqual([200, 200]);
    await unary(agent, "process.Process/CloseStdin", { process });
    expect((await collect(cat)).stdout).toBe(`${2 * 47 * MIB}\n`);
  });

  test("a message above 64 MiB is resource_exhausted before it is read; a body of that size to a composition 400", async () => {
    const text = " ".repeat(64 * MIB + 1);
    const refused = await unary(agent, "process.Process/List", text);
    expect([refused.status, refused.body.code]).toEqual([429, "resource_exhausted"]);
    const init = { method: "POST", headers: { ...authorised(agent), "Content-Type": "application/json" } };
    expect((await fetch(`${agent.baseUrl}/files/compose`, { ...init, body: text })).status).toBe(400);
    expect((await unary(agent, "process.Process/List", {})).status).toBe(200);
  });

  test("a text of few bytes that stands for very many values is refused before they are made", async () => {
    const before = await peakMiB();
    const values = `{"x":[${"{},".repeat(8 * MIB)}{}]}`;
    expect((await unary(agent, "process.Process/List", values)).body.code).toBe("invalid_argument");
    const compose = { method: "POST", headers: { ...authorised(agent), "Content-Type": "application/json" } };
    expect((await fetch(`${agent.baseUrl}/files/compose`, { ...compose, body: values.slice(0, 12 * MIB) })).status).toBe(400);
    expect((await peakMiB()) - before).toBeLessThan(300);
  });
});
