import { AppError } from "@boxyard/core";
import type { ConnectRequest, ConnectResponse, StartRequest, StartResponse } from "@boxyard/spec/agent";
import { type AgentContext, actingUser, type EncodedEnvelope, type RpcCall, type ServerStreamHandler } from "../../contracts.ts";
import { terminalSize } from "../../pty/terminal.ts";
import { after } from "../../timers.ts";
import type { Reader } from "../broadcast.ts";
import type { Command } from "../command.ts";
import type { Commands } from "../commands.ts";
import type { EndStatus } from "../end-status.ts";
import { type StartDeps, startCommand } from "../start-command.ts";
import { dataEnvelope } from "./data-envelope.ts";
import { selectorOf } from "./selector.ts";

/**
 * Header of a Connect request, an extension for our clients: the offset, in bytes of all data events since the start of the process, from which the
 * output is sent again. The answer has the header with the actual offset, which is larger when older output was dropped.
 */
const OFFSET_HEADER = "Boxyard-Output-Offset";

const KEEPALIVE = { event: { keepalive: {} } } as const;

type Message = StartResponse | EncodedEnvelope;

/** `Start`. The process runs until it ends or the call's timeout is over, also when the client leaves before. */
export function startHandler(
  ctx: Pick<AgentContext, "state" | "users">,
  commands: Commands,
  deps: StartDeps,
): ServerStreamHandler<StartRequest, StartResponse> {
  return {
    keepalive: KEEPALIVE,
    ownsTimeout: true,
    open: (request, call) => runStart(ctx, commands, deps, request, call),
  };
}

async function* runStart(
  ctx: Pick<AgentContext, "state" | "users">,
  commands: Commands,
  deps: StartDeps,
  request: StartRequest,
  call: RpcCall,
): AsyncGenerator<Message> {
  const receivedAt = deps.clock.monotonic();
  const { trace } = call;
  trace?.mark("parsed");
  const config = request.process;
  if (!config) throw new AppError("invalid_argument", "process is required", { reason: "no_process" });
  const order = {
    config,
    user: actingUser(ctx, call.username),
    tag: request.tag,
    terminal: request.pty && terminalSize(request.pty.size),
    stdin: request.stdin ?? true,
    trace,
    traceparent: traceparentOf(call),
  };
  const starting = commands.start(config, () => startCommand(deps, order));
  const command = await (call.timeoutMs === undefined ? starting : startedWithin(call.timeoutMs, starting));
  if (trace) void command.finished.then(() => trace.mark("drained"));
  const reader = command.subscribe();
  if (call.timeoutMs !== undefined) {
    const left = Math.max(0, call.timeoutMs - (deps.clock.monotonic() - receivedAt));
    command.killAfter(left, () => reader.fail(deadline(call.timeoutMs)));
  }
  yield* deliver(command.pid, reader, call);
}

const TRACEPARENT = /^[0-9a-f]{2}-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}$/;

/** The trace that the client's call belongs to, if it says so in the way that programs understand. */
function traceparentOf(call: RpcCall): string | undefined {
  const text = call.header("traceparent");
  return text !== null && TRACEPARENT.test(text) ? text : undefined;
}

/** Rejects after the timeout, as in a frozen sandbox, or after root has stopped `launch`. A command that starts later is killed at once. */
function startedWithin(timeoutMs: number, starting: Promise<Command>): Promise<Command> {
  return new Promise((resolve, reject) => {
    const cancel = after(timeoutMs, () => {
      reject(deadline(timeoutMs));
      starting.then((command) => command.kill()).catch(() => {});
    });
    starting.then(resolve, reject).finally(cancel);
  });
}

function deadline(timeoutMs: number | undefined): AppError {
  return new AppError("deadline_exceeded", `the process was ended after its timeout of ${timeoutMs} ms`, { reason: "process_timeout" });
}

/** `Connect`: sends the output that no reader has received, or from the offset of the header on, then new output. */
export function connectHandler(commands: Commands): ServerStreamHandler<ConnectRequest, ConnectResponse> {
  return {
    keepalive: KEEPALIVE,
    open(request, call) {
      const command = commands.findOrEnded(selectorOf(request.process));
      const offset = offsetOf(call.header(OFFSET_HEADER));
      const reader = command.subscribe(offset);
      call.setHeader(OFFSET_HEADER, String(reader.offset));
      return deliver(command.pid, reader, call);
    },
  };
}

function offsetOf(text: string | null): number | undefined {
  if (text === null) return undefined;
  if (!/^\d{1,15}$/.test(text))
    throw new AppError("invalid_argument", `${OFFSET_HEADER} must be a number of bytes`, { reason: "bad_offset" });
  return Number(text);
}

/** The events of a process. Listens to the signal at once, before the first message is requested, so that a client which leaves early leaves no reader. */
function deliver(pid: number, reader: Reader<EndStatus>, call: RpcCall): AsyncGenerator<Message> {
  const leave = () => reader.leave();
  if (call.signal.aborted) leave();
  call.signal.addEventListener("abort", leave, { once: true });
  return (async function* () {
    try {
      yield { event: { start: { pid } } };
      for (let delivery = await reader.next(); delivery; delivery = await reader.next()) {
        if ("piece" in delivery) call.trace?.markOnce("output");
        yield "piece" in delivery ? dataEnvelope(delivery.piece) : { event: { end: delivery.end } };
      }
    } finally {
      call.signal.removeEventListener("abort", leave);
      leave();
    }
  })();
}
