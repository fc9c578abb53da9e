import { AppError } from "@boxyard/core";
import type { MethodKind, MethodTable } from "@boxyard/spec/agent";
import {
  type AgentContext,
  type ClientStreamHandler,
  EncodedMessage,
  type RpcCall,
  type ServerStreamHandler,
  type UnaryHandler,
} from "../contracts.ts";
import { after } from "../timers.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";
import { envelope, FLAG_END, readEnvelopes } from "./envelope.ts";
import { endOfStream, unaryError } from "./errors.ts";
import { basicUser, checkProtocol, keepaliveOf, readBody, timeoutOf } from "./request.ts";
import { serverStreamBody } from "./server-stream.ts";

// biome-ignore lint/suspicious/noExplicitAny: the types of a method meet those of its handler where services are added, and are gone here.
type AnyMethod = MethodTable<MethodKind, any, any>;

/** A service as `@boxyard/spec/agent` describes it. */
export interface ServiceTable {
  readonly name: string;
  readonly methods: Readonly<Record<string, AnyMethod>>;
}

export interface RpcEndpoint {
  readonly method: AnyMethod;
  readonly handler: unknown;
}

const UNARY_TYPE = "application/json";
const STREAM_TYPE = "application/connect+json";
const STREAM_HEADERS = { "Content-Type": STREAM_TYPE, "Cache-Control": "no-store", "X-Accel-Buffering": "no" };

/** The endpoints of a service by path, `/process.Process/Start`. */
export function endpointsOf(service: ServiceTable, handlers: Readonly<Record<string, unknown>>): [string, RpcEndpoint][] {
  return Object.entries(service.methods).map(([name, method]) => [`/${service.name}/${name}`, { method, handler: handlers[name] }]);
}

/** Answers one call; never throws. Access control is done. */
export async function answerRpc(ctx: Pick<AgentContext, "log">, endpoint: RpcEndpoint, request: Request): Promise<Response> {
  const kind = endpoint.method.kind;
  const expected = kind === "unary" ? UNARY_TYPE : STREAM_TYPE;
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== expected) return new Response(null, { status: 415, headers: { "Accept-Post": expected } });
  if (kind === "unary") return answerUnary(ctx, endpoint, request);
  return kind === "server_stream" ? answerServerStream(ctx, endpoint, request) : answerClientStream(ctx, endpoint, request);
}

/** A call whose signal aborts when the client leaves, or when `fail` is told why it must end. */
interface OpenCall extends RpcCall {
  readonly responseHeaders: Headers;
  fail(reason: unknown): void;
  /** Stops the deadline's timer. */
  close(): void;
}

function openCall(request: Request, stream: boolean, ownsTimeout: boolean): OpenCall {
  checkProtocol(request.headers, stream);
  const timeoutMs = timeoutOf(request.headers);
  const ended = new AbortController();
  const fail = (reason: unknown) => ended.abort(reason);
  const onLeave = () => fail(new AppError("canceled", "the client has left"));
  if (request.signal.aborted) onLeave();
  else request.signal.addEventListener("abort", onLeave, { once: true });
  const deadline = () => fail(new AppError("deadline_exceeded", `the call took longer than its timeout of ${timeoutMs} ms`));
  const responseHeaders = new Headers(stream ? STREAM_HEADERS : { "Content-Type": UNARY_TYPE });
  return {
    username: basicUser(request.headers),
    signal: ended.signal,
    timeoutMs,
    responseHeaders,
    header: (name) => request.headers.get(name),
    setHeader: (name, value) => responseHeaders.set(name, value),
    fail,
    close: timeoutMs === undefined || ownsTimeout ? () => {} : after(timeoutMs, deadline),
  };
}

/** What `work` gives, or the signal's reason when it aborts first. */
function untilAborted<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  if (signal.aborted) return Promise.reject(signal.reason);
  return new Promise((resolve, reject) => {
    const onAbort = () => reject(signal.reason);
    signal.addEventListener("abort", onAbort, { once: true });
    work.then(resolve, reject).finally(() => signal.removeEventListener("abort", onAbort));
  });
}

function note(ctx: Pick<AgentContext, "log">, error: unknown): void {
  if (!(error instanceof AppError) || error.code === "internal") ctx.log("rpc failed", error);
}

async function answerUnary(ctx: Pick<AgentContext, "log">, { method, handler }: RpcEndpoint, request: Request): Promise<Response> {
  try {
    const call = openCall(request, false, false);
    try {
      const input = decodeMessage(method.input, await readBody(request));
      const output = await untilAborted(Promise.resolve((handler as UnaryHandler<unknown, unknown>)(input, call)), call.signal);
      const body = output instanceof EncodedMessage ? new Blob([...output.pieces]) : encodeMessage(method.output, output);
      return new Response(body, { headers: call.responseHeaders });
    } finally {
      call.close();
    }
  } catch (error) {
    note(ctx, error);
    return unaryError(error);
  }
}

function streamFailure(ctx: Pick<AgentContext, "log">, error: unknown): Response {
  note(ctx, error);
  return new Response(Buffer.from(envelope(FLAG_END, endOfStream(error))), { headers: STREAM_HEADERS });
}

async function answerServerStream(ctx: Pick<AgentContext, "log">, { method, handler }: RpcEndpoint, request: Request): Promise<Response> {
  const { open, keepalive, ownsTimeout } = handler as ServerStreamHandler<unknown, unknown>;
  let call: OpenCall | undefined;
  try {
    call = openCall(request, true, ownsTimeout ?? false);
    const input = decodeMessage(method.input, await onlyMessage(request));
    const body = serverStreamBody(open(input, call), {
      output: method.output,
      keepalive,
      keepaliveMs: keepaliveOf(request.headers),
      signal: call.signal,
      onEnd: () => call?.close(),
      onLeave: () => call?.fail(new AppError("canceled", "the client has left")),
      onError: (error) => note(ctx, error),
    });
    return new Response(body, { headers: call.responseHeaders });
  } catch (error) {
    call?.close();
    return streamFailure(ctx, error);
  }
}

async function onlyMessage(request: Request): Promise<Uint8Array> {
  for await (const message of readEnvelopes(request.body as ReadableStream<Uint8Array> | null)) return message;
  throw new AppError("invalid_argument", "the request holds no message", { reason: "bad_envelope" });
}

async function answerClientStream(ctx: Pick<AgentContext, "log">, { method, handler }: RpcEndpoint, request: Request): Promise<Response> {
  try {
    const call = openCall(request, true, false);
    try {
      const inputs = decoded(method, request);
      const output = await untilAborted((handler as ClientStreamHandler<unknown, unknown>)(inputs, call), call.signal);
      const bytes = [envelope(0, encodeMessage(method.output, output)), envelope(FLAG_END, endOfStream())];
      return new Response(Buffer.concat(bytes), { headers: STREAM_HEADERS });
    } finally {
      call.close();
    }
  } catch (error) {
    return streamFailure(ctx, error);
  }
}

async function* decoded(method: AnyMethod, request: Request): AsyncGenerator<unknown> {
  for await (const message of readEnvelopes(request.body as ReadableStream<Uint8Array> | null)) yield decodeMessage(method.input, message);
}
