import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { type AgentUnderTest, authorised, initialise, startAgent } from "./support/agent-under-test.ts";
import { type OpenStream, unary } from "./support/rpc.ts";
import { collect, firstPid, readUntil, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent.stop());

const post = (path: string) => fetch(`${agent.baseUrl}${path}`, { method: "POST", headers: authorised(agent) });

/** A command that counts aloud, and whether it does so now. */
async function counter(): Promise<{ open: OpenStream; pid: number }> {
  const open = await start(agent, shell("while :; do echo tick; sleep 0.02; done"));
  return { open, pid: await firstPid(open) };
}

async function ticks({ open }: { open: OpenStream }, ms: number): Promise<number> {
  let count = 0;
  const until = Bun.sleep(ms).then(() => undefined);
  for (;;) {
    const next = pending.get(open) ?? open.envelopes.next();
    pending.set(open, next);
    if ((await Promise.race([next, until])) === undefined) return count;
    pending.delete(open);
    count++;
  }
}
const pending = new Map<OpenStream, ReturnType<OpenStream["envelopes"]["next"]>>();

async function kill(pid: number): Promise<void> {
  await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
}

describe("freeze", () => {
  test("POST /freeze stops commands and terminals, the agent answers throughout; POST /unfreeze lets them go on", async () => {
    const command = await counter();
    const terminal = await start(agent, {
      process: { cmd: "sh", args: ["-c", "while :; do echo tock; sleep 0.02; done"] },
      pty: { size: { cols: 80, rows: 24 } },
    });
    const terminalPid = await firstPid(terminal);
    expect(await ticks(command, 300)).toBeGreaterThan(3);
    const frozen = await post("/freeze");
    expect([frozen.status, await frozen.text()]).toEqual([204, ""]);
    await ticks(command, 100);
    await ticks({ open: terminal }, 100);
    expect([await ticks(command, 300), await ticks({ open: terminal }, 300)]).toEqual([0, 0]);
    expect((await fetch(`${agent.baseUrl}/health`)).status).toBe(204);
    expect((await unary(agent, "process.Process/List", {})).body.processes.length).toBe(2);
    expect((await post("/unfreeze")).status).toBe(204);
    expect(await ticks(command, 300)).toBeGreaterThan(3);
    await kill(command.pid);
    await kill(terminalPid);
  });

  test("both are idempotent", async () => {
    for (const path of ["/freeze", "/freeze", "/unfreeze", "/unfreeze"]) expect((await post(path)).status).toBe(204);
  });

  test("with maxWaitMs the answer is 200 with the counts", async () => {
    const response = await post("/freeze?maxWaitMs=1000&mode=legacy");
    expect(response.status).toBe(200);
    const result = await response.json();
    expect(result).toMatchObject({ mode: "legacy", requested: 2, frozen: 2, notFrozen: 0, failed: 0, unobservable: 0 });
    for (const name of ["visited", "allowlisted", "preFrozen", "sweepMs", "waitMs"]) expect(typeof result[name]).toBe("number");
    await post("/unfreeze");
  });

  test("a query that is no integer is 400, an unknown mode is legacy", async () => {
    expect((await post("/freeze?maxWaitMs=soon")).status).toBe(400);
    expect((await (await post("/freeze?maxWaitMs=500&mode=other")).json()).mode).toBe("legacy");
    await post("/unfreeze");
  });

  test("an authorised /init thaws, a stale one too; a refused one does not", async () => {
    const command = await counter();
    for (const timestamp of ["2031-01-01T00:00:00Z", "2001-01-01T00:00:00Z"]) {
      await post("/freeze");
      const refused = await fetch(`${agent.baseUrl}/init`, { method: "POST", headers: { "X-Init-Key": "wrong" } });
      expect(refused.status).toBe(401);
      await ticks(command, 100);
      expect(await ticks(command, 200)).toBe(0);
      await initialise(agent, { timestamp });
      expect(await ticks(command, 300)).toBeGreaterThan(3);
    }
    await kill(command.pid);
  });

  test("what is started while frozen runs after the thaw, and a frozen command can be killed", async () => {
    const command = await counter();
    await post("/freeze");
    const late = start(agent, shell("echo late"));
    await Bun.sleep(200);
    await kill(command.pid);
    await readUntil(command.open, (soFar) => soFar.end !== undefined).catch(() => {});
    await post("/unfreeze");
    expect((await collect(await late)).stdout).toBe("late\n");
  });

  test("cgroups that the guest made are frozen in mode hierarchy; those it froze itself stay frozen", async () => {
    const guest = "/sys/fs/cgroup/guest";
    const state = async (name: string) => (await run(agent, `cat ${guest}-${name}/cgroup.freeze`, { user: "root" })).stdout.trim();
    await run(agent, `mkdir ${guest}-running ${guest}-frozen; echo 1 > ${guest}-frozen/cgroup.freeze`, { user: "root" });
    const result = await (await post("/freeze?maxWaitMs=1000&mode=hierarchy")).json();
    expect(result).toMatchObject({ mode: "hierarchy", requested: 3, frozen: 3, preFrozen: 1 });
    await post("/freeze?maxWaitMs=1000&mode=hierarchy");
    await post("/unfreeze");
    expect([await state("running"), await state("frozen")]).toEqual(["0", "1"]);
    await run(agent, `rmdir ${guest}-running ${guest}-frozen`, { user: "root" });
  });
});
