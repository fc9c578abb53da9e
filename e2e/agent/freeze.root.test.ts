import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { staysTrueFor } from "@boxyard/testkit";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { initialise, startAgent } from "./support/agent-under-test.ts";
import { type OpenStream, unary } from "./support/rpc.ts";
import { collect, firstPid, run, shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent({ prepare: `mkdir /home/fuse && python3 ${import.meta.dir}/support/fuse-directory.py /home/fuse` });
});
afterAll(() => agent.stop());

const post = (path: string) => fetch(`${agent.baseUrl}${path}`, { method: "POST", headers: authorised(agent) });

/** A command that prints a line every 20 ms. */
async function counter(): Promise<{ open: OpenStream; pid: number }> {
  const open = await start(agent, shell("while :; do echo tick; sleep 0.02; done"));
  return { open, pid: await firstPid(open) };
}

/** How many of these lines arrive within `ms`. */
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
/** Waits for a few more lines. Lines from before a freeze must have been read already. */
async function goesOn(command: { open: OpenStream }): Promise<void> {
  let count = 0;
  for (const deadline = Date.now() + 20_000; count < 4 && Date.now() < deadline; ) count += await ticks(command, 50);
  expect(count).toBeGreaterThanOrEqual(4);
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
    await goesOn(command);
    const frozen = await post("/freeze");
    expect([frozen.status, await frozen.text()]).toEqual([204, ""]);
    await ticks(command, 100);
    await ticks({ open: terminal }, 100);
    expect([await ticks(command, 300), await ticks({ open: terminal }, 300)]).toEqual([0, 0]);
    expect((await fetch(`${agent.baseUrl}/health`)).status).toBe(204);
    expect((await unary(agent, "process.Process/List", {})).body.processes.length).toBe(2);
    expect((await post("/unfreeze")).status).toBe(204);
    await goesOn(command);
    await kill(command.pid);
    await kill(terminalPid);
  });

  test("503, and nothing left frozen, when something cannot be frozen in time; with maxWaitMs it is counted", async () => {
    const stuck = await start(agent, { process: { cmd: "cat", args: ["/home/fuse/stuck"] } });
    expect((await run(agent, "until [ -e /run/fuse-stuck ]; do sleep 0.02; done", { timeoutMs: 10_000 })).error).toBeUndefined();
    const command = await counter();
    const counted = await (await post("/freeze?maxWaitMs=50")).json();
    expect(counted).toMatchObject({ requested: 2, frozen: 1, notFrozen: 1, failed: 0 });
    await post("/unfreeze");
    const refused = await post("/freeze");
    expect([refused.status, await refused.json()]).toEqual([
      503,
      { code: 503, message: "not everything could be frozen in time; it was thawed again" },
    ]);
    for (const name of ["user", "pty"]) {
      const files = `cat /sys/fs/cgroup/${name}/cgroup.freeze; grep frozen /sys/fs/cgroup/${name}/cgroup.events`;
      expect((await run(agent, files, { user: "root" })).stdout).toBe("0\nfrozen 0\n");
    }
    await goesOn(command);
    await run(agent, "pkill -9 -f fuse-directory[.]py", { user: "root" });
    await collect(stuck);
    await kill(command.pid);
  });

  test("a freeze stays when its caller takes the answer and closes the connection", async () => {
    const command = await counter();
    await goesOn(command);
    const frozen = await fetch(`${agent.baseUrl}/freeze`, { method: "POST", headers: authorised(agent), keepalive: false });
    expect(frozen.status).toBe(204);
    await ticks(command, 100);
    expect(await ticks(command, 300)).toBe(0);
    await post("/unfreeze");
    await kill(command.pid);
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

  test("an authorised /init thaws, a stale one and one that can't be read too; a refused one does not", async () => {
    const command = await counter();
    for (const body of ['{"timestamp":"2031-01-01T00:00:00Z"}', '{"timestamp":"2001-01-01T00:00:00Z"}', "{"]) {
      await post("/freeze");
      const refused = await fetch(`${agent.baseUrl}/init`, { method: "POST", headers: { "X-Init-Key": "wrong" } });
      expect(refused.status).toBe(401);
      await ticks(command, 100);
      expect(await ticks(command, 200)).toBe(0);
      const headers = { "X-Init-Key": agent.initKey ?? "" };
      const response = await fetch(`${agent.baseUrl}/init`, { method: "POST", headers, body });
      expect(response.status).toBe(body === "{" ? 400 : 204);
      await goesOn(command);
    }
    await kill(command.pid);
  });

  test("groups below user and pty that the guest froze stay frozen when the rest is thawed", async () => {
    const groups = ["user", "pty"].map((name) => `/sys/fs/cgroup/${name}/guest`);
    const read = async (file: string) =>
      (await run(agent, `cat ${groups.map((path) => `${path}/${file}`).join(" ")}`, { user: "root" })).stdout;
    await run(agent, `for g in ${groups.join(" ")}; do mkdir $g && echo 1 > $g/cgroup.freeze; done`, { user: "root" });
    for (const mode of ["legacy", "hierarchy"]) {
      for (const thaw of [() => post("/unfreeze"), () => initialise(agent, {})]) {
        expect(await (await post(`/freeze?maxWaitMs=1000&mode=${mode}`)).json()).toMatchObject({ frozen: 2, notFrozen: 0 });
        await thaw();
        expect([await read("cgroup.freeze"), await read("../cgroup.freeze")]).toEqual(["1\n1\n", "0\n0\n"]);
      }
    }
    await run(agent, `rmdir ${groups.join(" ")}`, { user: "root" });
  });

  test("a freeze that nobody ends is ended by the agent", async () => {
    const impatient = await startAgent({ settings: { BOXYARD_AGENT_FREEZE_WATCHDOG_MS: "300" } });
    try {
      const headers = authorised(impatient);
      expect((await fetch(`${impatient.baseUrl}/freeze`, { method: "POST", headers })).status).toBe(204);
      // It starts in a group that is frozen.
      expect((await run(impatient, "echo late")).stdout).toBe("late\n");
    } finally {
      await impatient.stop();
    }
  });

  test("what is started while frozen runs after the thaw, and a frozen command can be killed", async () => {
    const command = await counter();
    await post("/freeze");
    let said = "";
    const late = start(agent, shell("echo late")).then(async (open) => {
      said = (await collect(open)).stdout;
    });
    await staysTrueFor(200, "the command does not start", () => said === "");
    await kill(command.pid);
    expect((await collect(command.open)).end.status).toBe("signal: killed");
    expect(said).toBe("");
    await post("/unfreeze");
    await late;
    expect(said).toBe("late\n");
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
