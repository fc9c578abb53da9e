import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processCpuMs } from "@boxyard/core/node";
import { type AgentUnderTest, startAgent } from "../../e2e/agent/support/agent-under-test.ts";
import { asRoot } from "../../e2e/agent/support/files.ts";
import { collect, type StartMessage, start } from "../../e2e/agent/support/run.ts";
import { atMost, type Bench, type BenchResult } from "../lib/bench.ts";
import { privateBytes } from "../lib/memory.ts";
import { repeat, type Summary, summarize } from "../lib/stats.ts";

const STARTS = 10;
const ROUNDS = 200;
/** Until nothing of its start goes on any more. */
const SETTLE_MS = 500;
const TRUE: StartMessage = { process: { cmd: "/bin/true" }, stdin: false };

/** At the agent itself, compiled and in namespaces of its own: no proxy, no SDK, no server. */
export const agent: Bench = {
  name: "agent",
  promises: [3, 5],
  what: "the agent alone: CPU until it answers, private memory, a command beside fork and exec of the same in the same place",
  async run(): Promise<BenchResult> {
    const folder = mkdtempSync(join(tmpdir(), "boxyard-bench-agent-"));
    try {
      const executable = await compileAgent(join(folder, "agent"));
      const { cpu, memory } = await measureStarts(executable);
      const running = await startAgent({ executable });
      try {
        const command = await measureCommands(running);
        const over =
          Math.round(((command.agent?.p50 ?? Number.NaN) - (command["fork, exec and wait by a shell there"]?.p50 ?? 0)) * 100) / 100;
        return {
          series: { "CPU from exec to the first answers": cpu, "private memory": memory, ...command },
          verdicts: [
            atMost("CPU from exec to the first answers, p50", cpu.p50, 10),
            { promise: "private memory ≤ 6 MB", measured: `${memory.p50} MB`, kept: memory.p50 <= 6 },
            atMost("a command above fork and exec, p50", over, 1),
          ],
          notes: [],
        };
      } finally {
        await running.stop();
      }
    } finally {
      rmSync(folder, { recursive: true });
    }
  },
};

async function compileAgent(executable: string): Promise<string> {
  const entry = join(import.meta.dir, "../../packages/agent/src/main.ts");
  const built = Bun.spawnSync([process.execPath, "build", "--compile", "--minify", "--bytecode", entry, "--outfile", executable]);
  if (!built.success) throw new Error(built.stderr.toString());
  return executable;
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
  const run = async () => {
    const { end, error } = await collect(await start(running, TRUE));
    if (!end || error) throw new Error(`the command failed: ${JSON.stringify(error)}`);
  };
  return {
    agent: await repeat(ROUNDS, run, 20),
    "fork, exec and wait by a shell there": await byShell(running),
    "agent, after 100 ms of idling": await repeat(30, run, 2, 100),
  };
}

/** The floor, in the same namespaces: a shell starts the same program over and over, and says how long each took. */
async function byShell(running: AgentUnderTest): Promise<Summary> {
  // biome-ignore lint/suspicious/noTemplateCurlyInString: the shell's own
  const round = "s=$EPOCHREALTIME; /bin/true; e=$EPOCHREALTIME; echo $((${e/./} - ${s/./}))";
  const text = await asRoot(running, `bash -c 'for i in $(seq ${ROUNDS}); do ${round}; done'`);
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
