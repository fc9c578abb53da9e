import { setImmediate } from "node:timers/promises";
import { AppError } from "@boxyard/core";
import { envelope, FLAG_END } from "@boxyard/spec";
import { type AgentAccess, headersOf, urlOf } from "./access.ts";
import { MessageCutter } from "./message-cutter.ts";

export interface ProcessRequest {
  readonly cmd: string;
  readonly args: readonly string[];
  readonly user: string;
  readonly cwd?: string;
  readonly envs?: Readonly<Record<string, string>>;
  /** Name under which the process can be found, as the start command of a template is. */
  readonly tag?: string;
  /** The agent ends it after this time. */
  readonly limitMs?: number;
}

/** Receives output. The next piece comes when its promise has settled. */
export type TakeOutput = (bytes: Uint8Array) => void | Promise<void>;

export interface ProcessOutput {
  readonly stdout?: TakeOutput;
  readonly stderr?: TakeOutput;
}

/** How a process ended: its exit code, or -1 and what ended it. */
export interface ProcessEnd {
  readonly exitCode: number;
  readonly status: string;
}

/** A running process, which goes on when its stream is closed. */
export interface RunningProcess {
  readonly ended: Promise<ProcessEnd>;
  detach(): void;
}

/** Bytes and messages that are read before other work of this process runs, so that a hostile agent cannot take all of the server's time. */
const SLICE = { bytes: 64 << 10, messages: 128 };
/** Most bytes that are read of an error answer. */
const MAX_REFUSAL_BYTES = 64 << 10;

/**
 * Starts processes through the agent (Connect's JSON codec, docs/contract/agent.md, Protocol and Processes). Whatever answers may be hostile: each message has a limit,
 * and nothing that comes is trusted to have the right shape.
 */
export async function startProcess(
  agent: AgentAccess,
  request: ProcessRequest,
  output: ProcessOutput,
  signal: AbortSignal,
): Promise<RunningProcess> {
  const gone = new AbortController();
  const response = await post(agent, request, AbortSignal.any([signal, gone.signal]));
  const events = readEvents(response);
  try {
    const first = await events.next();
    if (first.done || !first.value.start) throw lost();
  } catch (error) {
    gone.abort();
    throw error;
  }
  const ended = follow(events, output);
  // A caller that closes the stream does not await the end.
  ended.catch(() => {});
  return { ended, detach: () => gone.abort() };
}

/** Runs a process to its end. */
export async function runProcess(
  agent: AgentAccess,
  request: ProcessRequest,
  output: ProcessOutput,
  signal: AbortSignal,
): Promise<ProcessEnd> {
  const running = await startProcess(agent, request, output, signal);
  try {
    return await running.ended;
  } finally {
    running.detach();
  }
}

const lost = (cause?: unknown) =>
  new AppError("unavailable", "The sandbox ended, or its agent did, before the command did", { reason: "sandbox_lost", cause });

async function post(agent: AgentAccess, request: ProcessRequest, signal: AbortSignal): Promise<Response> {
  const { cmd, args, envs = {}, cwd, user, tag, limitMs } = request;
  const message = { process: { cmd, args, envs, ...(cwd && { cwd }) }, stdin: false, ...(tag && { tag }) };
  try {
    // A command may be silent for an hour, so the runtime's own limit is off.
    return await fetch(`${urlOf(agent)}/process.Process/Start`, {
      method: "POST",
      headers: {
        ...headersOf(agent, user),
        "Content-Type": "application/connect+json",
        "Connect-Protocol-Version": "1",
        ...(limitMs === undefined ? {} : { "Connect-Timeout-Ms": String(limitMs) }),
      },
      body: envelope(0, JSON.stringify(message)),
      redirect: "manual",
      keepalive: false,
      timeout: false,
      signal,
    } as RequestInit);
  } catch (error) {
    signal.throwIfAborted();
    throw lost(error);
  }
}

interface ProcessEvent {
  readonly start?: object;
  readonly data?: { readonly stdout?: unknown; readonly stderr?: unknown };
  readonly end?: { readonly exitCode?: unknown; readonly exited?: unknown; readonly status?: unknown; readonly error?: unknown };
}

async function* readEvents(response: Response): AsyncGenerator<ProcessEvent, void> {
  if (response.status !== 200 || !response.body) throw failureOf(await refusalOf(response));
  const cutter = new MessageCutter();
  const turn = new Turn();
  try {
    for await (const chunk of response.body as unknown as AsyncIterable<Uint8Array>) {
      await turn.take(chunk.byteLength, 0);
      for (const { flags, bytes } of cutter.push(chunk, tooLarge)) {
        await turn.take(bytes.byteLength, 1);
        const message = parse(Buffer.from(bytes.buffer).toString());
        if ((flags & FLAG_END) !== 0) {
          if (message.error !== undefined) throw failureOf(message.error);
          return;
        }
        if (typeof message.event === "object" && message.event !== null) yield message.event as ProcessEvent;
      }
    }
  } catch (error) {
    if (error instanceof AppError || (error instanceof DOMException && error.name !== "NetworkError")) throw error;
    throw lost(error);
  }
}

const tooLarge = () => new AppError("data_loss", "The agent sent a message that is too large", { reason: "bad_agent" });

/** Lets other work of this process run after each slice. */
class Turn {
  private bytes = 0;
  private messages = 0;

  async take(bytes: number, messages: number): Promise<void> {
    this.bytes += bytes;
    this.messages += messages;
    if (this.bytes < SLICE.bytes && this.messages < SLICE.messages) return;
    this.bytes = 0;
    this.messages = 0;
    await setImmediate();
  }
}

/** The JSON body of an error answer; undefined if it is too long or not JSON. */
async function refusalOf(response: Response): Promise<unknown> {
  const reader = response.body?.getReader();
  if (!reader) return undefined;
  const chunks: Uint8Array[] = [];
  try {
    for (let bytes = 0; bytes <= MAX_REFUSAL_BYTES; ) {
      const { done, value } = await reader.read();
      if (done) return JSON.parse(Buffer.concat(chunks).toString());
      chunks.push(value);
      bytes += value.byteLength;
    }
  } catch {
    // The connection ended, or the body is not JSON.
  } finally {
    void reader.cancel().catch(() => {});
  }
  return undefined;
}

function parse(json: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(json);
    if (typeof value === "object" && value !== null) return value as Record<string, unknown>;
  } catch {
    // Falls through to the refusal.
  }
  throw new AppError("data_loss", "The agent sent something that is not of its protocol", { reason: "bad_agent" });
}

async function follow(events: AsyncGenerator<ProcessEvent, void>, output: ProcessOutput): Promise<ProcessEnd> {
  for await (const { data, end } of events) {
    if (typeof data?.stdout === "string") await output.stdout?.(Buffer.from(data.stdout, "base64"));
    if (typeof data?.stderr === "string") await output.stderr?.(Buffer.from(data.stderr, "base64"));
    if (end) {
      const exitCode = typeof end.exitCode === "number" ? end.exitCode : 0;
      return { exitCode, status: String(end.error ?? end.status ?? `exit status ${exitCode}`).slice(0, 200) };
    }
  }
  throw lost();
}

/** The `AppError` for an error of the agent: its message in a bounded length, and its code if it is one of a few. */
function failureOf(error: unknown): AppError {
  const { code, message } = (typeof error === "object" && error !== null ? error : {}) as { code?: unknown; message?: unknown };
  const text = String(message ?? "the agent gave no reason").slice(0, 1000);
  if (code === "unauthenticated" || code === "invalid_argument" || code === "not_found" || code === "deadline_exceeded") {
    return new AppError(code, text, { reason: "agent_refused" });
  }
  return new AppError("internal", text, { reason: "agent_refused" });
}
