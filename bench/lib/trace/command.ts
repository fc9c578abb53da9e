import { type CommandHandle, Commands, createSandboxTransport, Sandbox } from "@boxyard/sdk";
import type { Platform } from "@boxyard/testkit";
import { assembleCommand, summarizeRuns, type Trace, type TracedStep } from "./steps.ts";
import { TracedTransport } from "./traced-transport.ts";
import { Usage } from "./usage.ts";

const COVERS = {
  client: "this process: the SDK and the bench",
  server: "the server's process: the proxy (schedstat)",
  agent: "the agent (step by step: getrusage; the whole: schedstat, the sandbox's init included)",
  command: "launch, the command and what it starts (what the kernel counted for the sandbox's cgroup, less the agent)",
};

const IDLE_MS = 100;
const ARGV = { shell: ["/bin/bash", "-l", "-c", "true"], direct: ["/bin/true"], output: ["/bin/echo", "x"] } as const;

/** Commands of one sandbox, one after the other; and the first command of several new sandboxes. */
export async function traceCommands(platform: Platform, count: number): Promise<Trace[]> {
  const usage = new Usage(platform);
  const traces: Trace[] = [];
  {
    await using sandbox = await Traced.create(platform, usage);
    for (const [what, argv] of Object.entries(ARGV)) {
      traces.push(summarizeRuns(`command, ${what}: ${argv.join(" ")}`, COVERS, await runsOf(sandbox, argv, count, 0)));
    }
    const late = await runsOf(sandbox, ARGV.direct, Math.ceil(count / 2), IDLE_MS);
    traces.push(summarizeRuns(`command after ${IDLE_MS} ms of idling: ${ARGV.direct.join(" ")}`, COVERS, late));
  }
  const first: TracedStep[][] = [];
  for (let run = 0; run < Math.ceil(count / 4); run++) {
    await using sandbox = await Traced.create(platform, usage);
    first.push(await sandbox.run(ARGV.shell));
  }
  traces.push(summarizeRuns(`first command of a sandbox: ${ARGV.shell.join(" ")}`, COVERS, first));
  return traces;
}

async function runsOf(sandbox: Traced, argv: readonly [string, ...string[]], count: number, idleMs: number): Promise<TracedStep[][]> {
  const runs: TracedStep[][] = [];
  for (let run = -5; run < count; run++) {
    if (idleMs > 0) await Bun.sleep(idleMs);
    const steps = await sandbox.run(argv);
    if (run >= 0) runs.push(steps);
  }
  return runs;
}

/** A sandbox whose commands are traced. */
class Traced implements AsyncDisposable {
  private readonly sandbox: Sandbox;
  private readonly usage: Usage;
  private readonly transport: TracedTransport;
  private readonly commands: Commands;

  private constructor(sandbox: Sandbox, usage: Usage, transport: TracedTransport, version: string) {
    this.sandbox = sandbox;
    this.usage = usage;
    this.transport = transport;
    this.commands = new Commands(transport, {}, { version });
  }

  static async create(platform: Platform, usage: Usage): Promise<Traced> {
    const sandbox = await Sandbox.create({ apiUrl: platform.apiUrl, apiKey: platform.apiKey });
    const { body } = await platform.api({ path: `/sandboxes/${sandbox.sandboxId}` });
    const { envdAccessToken, envdVersion } = body as { envdAccessToken: string; envdVersion: string };
    const address = { sandboxId: sandbox.sandboxId, accessToken: envdAccessToken, baseUrl: platform.apiUrl };
    return new Traced(sandbox, usage, new TracedTransport(createSandboxTransport(address)), envdVersion);
  }

  async run(argv: readonly [string, ...string[]]): Promise<TracedStep[]> {
    const begin = this.usage.readOf(this.sandbox.sandboxId);
    const handle: CommandHandle = await this.commands.spawn(argv);
    await handle.wait();
    const at = performance.timeOrigin + performance.now();
    const marks = await this.transport.marks();
    const end = this.usage.readOf(this.sandbox.sandboxId);
    return assembleCommand(marks, begin, { ...end, at });
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.sandbox[Symbol.asyncDispose]();
  }
}
