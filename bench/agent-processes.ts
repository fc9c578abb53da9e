/*
 * Promises 3, 5 and 6 at the agent itself, without a proxy: CPU until it listens, private memory, a command's round trip against fork and
 * exec of the same, a terminal's key echo. Compiles an agent and starts it in namespaces of its own. Needs root.
 * Prints JSON: `bun bench/agent-processes.ts`.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentUnderTest, startAgent } from "../e2e/agent/support/agent-under-test.ts";
import { unary } from "../e2e/agent/support/rpc.ts";
import { collect, firstPid, readUntil, type StartMessage, shell, start } from "../e2e/agent/support/run.ts";
import { machine } from "./lib/machine.ts";
import { summarize } from "./lib/stats.ts";

const STARTS = 10;
const ROUNDS = 200;
const TRUE: StartMessage = { process: { cmd: "/bin/true" }, stdin: false };

/** Processes that run `executable`. */
function pidsOf(executable: string): string[] {
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return pids.filter((pid) => {
    try {
      return readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith(`${executable}\0`);
    } catch {
      return false;
    }
  });
}

/** Milliseconds of CPU that a process and its threads have used. */
function cpuMs(pid: string): number {
  const tasks = readdirSync(`/proc/${pid}/task`);
  const nanoseconds = tasks.map((task) => Number(readFileSync(`/proc/${pid}/task/${task}/schedstat`, "utf8").split(" ")[0]));
  return nanoseconds.reduce((sum, ns) => sum + ns, 0) / 1e6;
}

function privateBytes(pid: string): number {
  return Number(/^Anonymous:\s+(\d+) kB/m.exec(readFileSync(`/proc/${pid}/smaps_rollup`, "utf8"))?.[1]) * 1024;
}

async function benchStart(executable: string) {
  const cpu: number[] = [];
  const memory: number[] = [];
  for (let i = 0; i < STARTS; i++) {
    const agent = await startAgent({ executable });
    const [pid = ""] = pidsOf(executable);
    cpu.push(cpuMs(pid));
    await Bun.sleep(500);
    memory.push(privateBytes(pid) / 1e6);
    await agent.stop();
  }
  return { cpuMsToFirstAnswers: summarize(cpu), privateMB: summarize(memory) };
}

async function timed(rounds: number, work: () => Promise<unknown>, before: () => Promise<unknown> = async () => {}): Promise<number[]> {
  const samples: number[] = [];
  for (let i = 0; i < rounds + 20; i++) {
    await before();
    const startedAt = performance.now();
    await work();
    if (i >= 20) samples.push(performance.now() - startedAt);
  }
  return samples;
}

async function benchCommands(agent: AgentUnderTest) {
  const run = async (message: StartMessage) => {
    const { end, error } = await collect(await start(agent, message));
    if (!end || error) throw new Error(`the command failed: ${JSON.stringify(error)}`);
  };
  const spawn = (cmd: string[]) =>
    Bun.spawn(cmd, { stdio: ["ignore", "ignore", "ignore"], env: { PATH: "/usr/bin:/bin", HOME: "/" } }).exited;
  const idle = () => Bun.sleep(100);
  const [direct, floor] = [summarize(await timed(ROUNDS, () => run(TRUE))), summarize(await timed(ROUNDS, () => spawn(["/bin/true"])))];
  const [directIdle, floorIdle] = [
    summarize(await timed(30, () => run(TRUE), idle)),
    summarize(await timed(30, () => spawn(["/bin/true"]), idle)),
  ];
  const [bash, bashFloor] = [
    summarize(await timed(ROUNDS, () => run(shell("true")))),
    summarize(await timed(ROUNDS, () => spawn(["/bin/bash", "-l", "-c", "true"]))),
  ];
  return {
    direct,
    forkExec: floor,
    directAfterIdle: directIdle,
    forkExecAfterIdle: floorIdle,
    bashLogin: bash,
    forkExecBashLogin: bashFloor,
  };
}

async function benchEcho(agent: AgentUnderTest) {
  const open = await start(agent, { process: { cmd: "/bin/cat" }, pty: { size: { cols: 80, rows: 24 } } });
  const pid = await firstPid(open);
  const key = { process: { pid }, input: { pty: btoa("x") } };
  const samples = await timed(ROUNDS, async () => {
    const sent = unary(agent, "process.Process/SendInput", key);
    await readUntil(open, (soFar) => soFar.pty === "x");
    await sent;
  });
  await unary(agent, "process.Process/SendSignal", { process: { pid }, signal: "SIGNAL_SIGKILL" });
  await collect(open);
  return summarize(samples);
}

const folder = mkdtempSync(join(tmpdir(), "boxyard-bench-agent-"));
try {
  const executable = join(folder, "agent");
  const entry = join(import.meta.dir, "../packages/agent/src/main.ts");
  const built = Bun.spawnSync([process.execPath, "build", "--compile", "--minify", "--bytecode", entry, "--outfile", executable]);
  if (!built.success) throw new Error(built.stderr.toString());
  const started = await benchStart(executable);
  const agent = await startAgent({ executable });
  try {
    const commands = await benchCommands(agent);
    const keyEcho = await benchEcho(agent);
    const overForkExecMs = Math.round((commands.direct.p50 - commands.forkExec.p50) * 100) / 100;
    const kept = {
      listensWithin10MsOfCpu: started.cpuMsToFirstAnswers.p50 <= 10,
      privateMemoryAtMost6MB: started.privateMB.p50 <= 6,
      startAtMost1MsAboveForkExec: overForkExecMs <= 1,
      keyEchoAtMost2Ms: keyEcho.p50 <= 2,
    };
    console.log(JSON.stringify({ machine: machine(), ...started, ...commands, overForkExecMs, keyEcho, kept }, null, 2));
  } finally {
    await agent.stop();
  }
} finally {
  rmSync(folder, { recursive: true });
}
process.exit();
