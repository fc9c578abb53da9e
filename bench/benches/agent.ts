import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processCpuMs } from "@boxyard/core/node";
import { freePort } from "@boxyard/testkit";
import type { AgentUnderTest } from "../../e2e/agent/support/agent-access.ts";
import { startAgent } from "../../e2e/agent/support/agent-under-test.ts";
import { asRoot } from "../../e2e/agent/support/files.ts";
import type { StartMessage } from "../../e2e/agent/support/run.ts";
import { cpuToListen } from "../lib/agent-start.ts";
import { atMost, type Bench, type BenchResult, type Verdict } from "../lib/bench.ts";
import { privateBytes } from "../lib/memory.ts";
import { RawStarts } from "../lib/raw-start.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

const STARTS = 10;
const ROUNDS = 200;
const IDLE_ROUNDS = 50;
const IDLE_MS = 100;
/** Time for the agent to finish all the work of its start. */
const SETTLE_MS = 500;
const AGENT = "agent";
const FLOOR = "fork, exec and wait by a shell there";
const AGENT_IDLE = "agent, after 100 ms of idling";
const FLOOR_IDLE = "the shell, after 100 ms of idling";
const TRUE: StartMessage = { process: { cmd: "/bin/true" }, stdin: false };

/** Measures the compiled agent by itself, in namespaces of its own: no proxy, no SDK, no server. */
export const agent: Bench = {
  name: "agent",
  promises: [3, 5],
  what: "the agent alone: CPU until it listens and answers, private memory, a command compared with fork and exec of the same program in the same namespaces",
  async run(): Promise<BenchResult> {
    const directory = mkdtempSync(join(tmpdir(), "boxyard-bench-agent-"));
    try {
      const executable = await compileAgent(join(directory, "agent"));
      const listen = await measureListen(executable, join(directory, "empty"));
      const { cpu, memory } = await measureStarts(executable);
      const running = await startAgent({ executable });
      try {
        const commands = await measureCommands(running);
        return {
          series: {
            "CPU from exec to listening": listen,
            "CPU from exec to the first answers": cpu,
            "private memory": memory,
            ...commands,
          },
          verdicts: [
            atMost("CPU from exec to listening, p50", listen.p50, 10),
            { promise: "private memory ≤ 6 MB", measured: `${memory.p50} MB`, kept: memory.p50 <= 6 },
            over("a command above fork and exec, p50", commands[AGENT], commands[FLOOR]),
            over("the same after 100 ms of idling, p50", commands[AGENT_IDLE], commands[FLOOR_IDLE]),
          ],
          notes: [],
        };
      } finally {
        await running.stop();
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  },
};

function over(promise: string, ours: Summary | undefined, floor: Summary | undefined): Verdict {
  return atMost(promise, Math.round(((ours?.p50 ?? Number.NaN) - (floor?.p50 ?? Number.NaN)) * 100) / 100, 1);
}

async function compileAgent(executable: string): Promise<string> {
  const entry = join(import.meta.dir, "../../packages/agent/src/main.ts");
  const built = Bun.spawnSync([process.execPath, "build", "--compile", "--minify", "--bytecode", entry, "--outfile", executable]);
  if (!built.success) throw new Error(built.stderr.toString());
  return executable;
}

async function measureListen(executable: string, emptyDirectory: string): Promise<Summary> {
  mkdirSync(emptyDirectory);
  const cpu: number[] = [];
  for (let run = 0; run < STARTS; run++) cpu.push(await cpuToListen(executable, emptyDirectory, await freePort()));
  return summarize(cpu);
}

async function measureStarts(executable: string): Promise<{ cpu: Summary; memory: Summary }> {
  const cpu: number[] = [];
  const memory: number[] = [];
  for (let run = 0; run < STARTS; run++) {
    const started = await startAgent({ executable });
    const pid = pidOf(executable);
    cpu.push(processCpuMs(pid));
    await Bun.sleep(SETTLE_MS);
    memory.push(privateBytes(pid) / 1e6);
    await started.stop();
  }
  return { cpu: summarize(cpu), memory: { ...summarize(memory), unit: "MB" } };
}

async function measureCommands(running: AgentUnderTest): Promise<Record<string, Summary>> {
  const starts = await RawStarts.open(running, TRUE);
  try {
    const run = () => starts.run();
    return {
      [AGENT]: await repeat(ROUNDS, run, 20),
      [FLOOR]: await byShell(running, ROUNDS, ":"),
      [AGENT_IDLE]: await repeat(IDLE_ROUNDS, run, 2, IDLE_MS),
      [FLOOR_IDLE]: await byShell(running, IDLE_ROUNDS, `read -t ${IDLE_MS / 1000} <&3`),
    };
  } finally {
    starts.close();
  }
}

/** The floor, in the same namespaces: a shell starts the same program `rounds` times, each time after `pause`, and prints how long each start took. */
async function byShell(running: AgentUnderTest, rounds: number, pause: string): Promise<Summary> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
  const round = `${pause}; s=$EPOCHREALTIME; /bin/true; e=$EPOCHREALTIME; echo $((${"${e/./} - ${s/./}"}))`;
  // A pipe without a writer: `read -t` on it waits without starting a process.
  const text = await asRoot(running, `bash -c 'exec 3<> <(:); for i in $(seq ${rounds}); do ${round}; done'`);
  return summarize(
    text
      .trim()
      .split("\n")
      .map((us) => Number(us) / 1000),
  );
}

function pidOf(executable: string): string {
  const found = readdirSync("/proc").find((name) => /^\d+$/.test(name) && commandLine(name).startsWith(`${executable}\0`));
  if (found === undefined) throw new Error(`no process runs ${executable}`);
  return found;
}

function commandLine(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, "utf8");
  } catch {
    return "";
  }
}
