import type { AgentAddress } from "@boxyard/driver";
import { INIT_KEY } from "./machine.ts";

export interface ExecResult {
  readonly output: string;
  /** Undefined when the command was ended by a signal, or could not be started. */
  readonly exitCode: number | undefined;
  readonly status: string;
}

interface ProcessEvent {
  readonly event?: {
    readonly data?: { readonly stdout?: string; readonly stderr?: string };
    readonly end?: { readonly exitCode?: number; readonly exited?: boolean; readonly status?: string };
  };
  readonly error?: { readonly code: string; readonly message: string };
}

/** Initialises a new agent, which it needs before it runs commands. */
export async function initAgent({ host, agentPort }: AgentAddress, initKey = INIT_KEY): Promise<void> {
  const response = await fetch(`http://${host}:${agentPort}/init`, {
    method: "POST",
    headers: { "x-init-key": initKey, "content-type": "application/json" },
    body: JSON.stringify({ defaultUser: "root" }),
  });
  if (response.status !== 204) throw new Error(`init: ${response.status} ${await response.text()}`);
}

interface ExecOptions {
  readonly user?: string;
  readonly timeoutMs?: number;
}

/** Runs a shell command inside through the agent (docs/contract/agent.md, Processes) and waits for its end. */
export async function exec(address: AgentAddress, command: string, options: ExecOptions = {}): Promise<ExecResult> {
  const response = await start(address, command, options);
  return collect(Buffer.from(await response.arrayBuffer()));
}

/** Starts a shell command whose output is not read. Returns the stream of its output. */
export async function startUnread(address: AgentAddress, command: string): Promise<ReadableStream<Uint8Array>> {
  const { body } = await start(address, command, {});
  if (!body) throw new Error("start: no body");
  return body;
}

async function start(address: AgentAddress, command: string, { user = "root", timeoutMs = 60_000 }: ExecOptions): Promise<Response> {
  const message = new TextEncoder().encode(JSON.stringify({ process: { cmd: "/bin/bash", args: ["-c", command] }, stdin: false }));
  const body = new Uint8Array(5 + message.length);
  new DataView(body.buffer).setUint32(1, message.length);
  body.set(message, 5);
  const response = await fetch(`http://${address.host}:${address.agentPort}/process.Process/Start`, {
    method: "POST",
    headers: { "content-type": "application/connect+json", "connect-protocol-version": "1", authorization: `Basic ${btoa(`${user}:`)}` },
    body,
    signal: AbortSignal.timeout(timeoutMs),
  });
  if (response.status !== 200) throw new Error(`start: ${response.status} ${await response.text()}`);
  return response;
}

function collect(all: Buffer): ExecResult {
  let output = "";
  let end: NonNullable<ProcessEvent["event"]>["end"];
  let failure = "";
  for (let at = 0; at < all.length; ) {
    const length = all.readUInt32BE(at + 1);
    const { event, error } = JSON.parse(all.toString("utf8", at + 5, at + 5 + length)) as ProcessEvent;
    at += 5 + length;
    const data = event?.data?.stdout ?? event?.data?.stderr;
    if (data) output += Buffer.from(data, "base64").toString();
    if (event?.end) end = event.end;
    if (error) failure = `${error.code}: ${error.message}`;
  }
  const exitCode = end?.exited ? (end.exitCode ?? 0) : undefined;
  return { output, exitCode, status: failure || (end?.status ?? "") };
}
