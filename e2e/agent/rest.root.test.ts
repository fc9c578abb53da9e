import { afterAll, beforeAll, expect, setDefaultTimeout, test } from "bun:test";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { eventually } from "@boxyard/testkit";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { asRoot } from "./support/files.ts";
import { run } from "./support/run.ts";

/*
 * What processes of an idle sandbox wait for, as the kernel says in /proc/<pid>/syscall: number and arguments of the system call that it waits in. A limit
 * of time in it is a wake-up of the machine.
 */

setDefaultTimeout(120_000);

const CALLS = process.arch === "x64" ? { poll: 7, sigtimedwait: 128 } : { poll: 73, sigtimedwait: 137 };

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent?.stop());

/** The pids on the machine of processes in the agent's namespace, in the order of their start. */
async function pids(): Promise<string[]> {
  const namespace = await asRoot(agent, "readlink /proc/1/ns/pid");
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && namespaceOf(name) === namespace)
    .sort((a, b) => Number(a) - Number(b));
}

function namespaceOf(pid: string): string | undefined {
  try {
    return readlinkSync(`/proc/${pid}/ns/pid`);
  } catch {
    return undefined;
  }
}

function waitOf(pid: string): { call: number; third: number } {
  const [call, ...args] = readFileSync(`/proc/${pid}/syscall`, "utf8").trim().split(" ");
  return { call: Number(call), third: Number(args[2]) };
}

const rests = (pid: string) => eventually("the agent rests", () => waitOf(pid).call === CALLS.poll, { withinMs: 60_000 });

test("init waits without a limit of time", async () => {
  const [init = ""] = await pids();
  await eventually("init waits", () => waitOf(init).call === CALLS.sigtimedwait);
  expect(waitOf(init).third).toBe(0);
});

test("an idle agent waits outside of its event loop; requests, output of a command and its end wake it", async () => {
  const [, pid = ""] = await pids();
  await rests(pid);
  const { stdout } = await run(agent, "echo woken");
  expect(stdout).toBe("woken\n");
  await rests(pid);
  const answer = await fetch(`${agent.baseUrl}/health`);
  expect(answer.status).toBe(204);
  const lateMs = Math.abs(Date.now() - Date.parse(answer.headers.get("Date") ?? ""));
  expect(lateMs).toBeLessThan(30_000);
});
