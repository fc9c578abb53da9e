import type { AgentUnderTest } from "./agent-access.ts";
import { type CallOptions, type OpenStream, type Received, stream } from "./rpc.ts";

/** What a process said and how it ended, from one stream of Start or Connect. */
export interface RunResult {
  readonly pid: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly pty: string;
  /** The end event; undefined when the stream ended without one. */
  // biome-ignore lint/suspicious/noExplicitAny: what the agent sent, to be looked at by the test.
  readonly end: any;
  /** The error of the end-of-stream envelope. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** Names of the events in order, `data` once for each run of them. */
  readonly order: readonly string[];
}

export interface StartMessage {
  readonly process: {
    readonly cmd: string;
    readonly args?: readonly string[];
    readonly envs?: Record<string, string>;
    readonly cwd?: string;
  };
  readonly pty?: { readonly size: { readonly cols: number; readonly rows: number } };
  readonly tag?: string;
  readonly stdin?: boolean;
}

/** The form in which every public client starts a command. */
export function shell(script: string, more: Partial<StartMessage["process"]> = {}): StartMessage {
  return { process: { cmd: "/bin/bash", args: ["-l", "-c", script], ...more }, stdin: false };
}

/** Runs a shell command to its end. */
export async function run(agent: AgentUnderTest, script: string, options: CallOptions = {}): Promise<RunResult> {
  return collect(await start(agent, shell(script), options));
}

export function start(agent: AgentUnderTest, message: StartMessage, options: CallOptions = {}): Promise<OpenStream> {
  return stream(agent, "process.Process/Start", message, options);
}

export function connect(agent: AgentUnderTest, process: { pid: number } | { tag: string }, options: CallOptions = {}): Promise<OpenStream> {
  return stream(agent, "process.Process/Connect", { process }, options);
}

/** Reads a stream to its end. */
export async function collect({ envelopes }: OpenStream): Promise<RunResult> {
  const collector = new Collector();
  for await (const received of envelopes) collector.add(received);
  return collector.result();
}

/** The pid from the first event of a stream, which stays open. */
export async function firstPid(open: OpenStream): Promise<number> {
  const { value } = await open.envelopes.next();
  return value?.message.event.start.pid;
}

/** Reads on until `enough` says so of what was read. Throws when the stream ends first. */
export async function readUntil(open: OpenStream, enough: (soFar: RunResult) => boolean): Promise<RunResult> {
  const collector = new Collector();
  for (let next = await open.envelopes.next(); !next.done; next = await open.envelopes.next()) {
    collector.add(next.value);
    if (enough(collector.result())) return collector.result();
  }
  throw new Error(`the stream ended before: ${JSON.stringify(collector.result())}`);
}

class Collector {
  private pid = 0;
  private readonly output: Record<string, Buffer[]> = { stdout: [], stderr: [], pty: [] };
  private end: unknown;
  private error: RunResult["error"];
  private readonly order: string[] = [];

  add({ flags, message }: Received): void {
    if (flags === 2) {
      this.error = message.error;
      return;
    }
    // StreamInput's one answer has no event.
    if (!message.event) return;
    const [name = ""] = Object.keys(message.event);
    if (name !== "keepalive" && this.order.at(-1) !== name) this.order.push(name);
    if (name === "start") this.pid = message.event.start.pid;
    if (name === "end") this.end = message.event.end;
    if (name === "data")
      for (const [kind, text] of Object.entries(message.event.data)) this.output[kind]?.push(Buffer.from(String(text), "base64"));
  }

  result(): RunResult {
    const text = (kind: string) => Buffer.concat(this.output[kind] ?? []).toString("utf8");
    return {
      pid: this.pid,
      stdout: text("stdout"),
      stderr: text("stderr"),
      pty: text("pty"),
      end: this.end,
      error: this.error,
      order: this.order,
    };
  }
}
