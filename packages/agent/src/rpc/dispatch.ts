import { AppError } from "@boxyard/core";
import { envelope, FLAG_END } from "@boxyard/spec";
import type { MethodKind, MethodTable } from "@boxyard/spec/agent";
import type { BodyClaim } from "../body/budget.ts";
import { type BodyRules, bodyRules, isSmall, readBody } from "../body/read-body.ts";
import {
  type AgentContext,
  type ClientStreamHandler,
  closing,
  EncodedMessage,
  type RpcCall,
  type ServerStreamHandler,
  type UnaryHandler,
} from "../contracts.ts";
import { after } from "../timers.ts";
import { traceOf } from "../trace.ts";
import { decodeMessage, encodeMessage } from "./codec.ts";
import { onlyEnvelope, readEnvelopes } from "./envelope.ts";
import { endOfStream, unaryError } from "./errors.ts";
import { basicUser, checkProtocol, keepaliveOf, timeoutOf } from "./request.ts";
import { serverStreamBody } from "./server-stream.ts";

// biome-ignore lint/suspicious/noExplicitAny: `endpointsOf` has the types of methods and handlers; the table of all services has none.
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

type RpcContext = Pick<AgentContext, "log" | "bodies">;

/** Answers one call; never throws. Access control is done. */
export async function answerRpc(ctx: RpcContext, endpoint: RpcEndpoint, request: Request): Promise<Response> {
  const kind = endpoint.method.kind;
  const expected = kind === "unary" ? UNARY_TYPE : STREAM_TYPE;
  const type = (request.headers.get("content-type") ?? "").split(";", 1)[0]?.trim().toLowerCase();
  if (type !== expected) return wrongCodec(type ?? "", expected);
  if (kind === "unary") return answerUnary(ctx, endpoint, request);
  return kind === "server_stream" ? answerServerStream(ctx, endpoint, request) : answerClientStream(ctx, endpoint, request);
}

/** The answer for an unsupported content type: status and header by the Connect protocol, with a message for people. */
function wrongCodec(type: string, expected: string): Response {
  const message = `the content type ${JSON.stringify(type.slice(0, 100))} is not supported here: send ${expected}`;
  return Response.json({ code: "unimplemented", message }, { status: 415, headers: { "Accept-Post": expected } });
}

/** A call whose signal aborts when the client leaves, or with the reason given to `fail`. */
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
    trace: traceOf(request.headers),
    signal: ended.signal,
    timeoutMs,
    responseHeaders,
    header: (name) => request.headers.get(name),
    setHeader: (name, value) => responseHeaders.set(name, value),
    fail,
    close: timeoutMs === undefined || ownsTimeout ? () => {} : after(timeoutMs, deadline),
  };
}

/** As `work`, but rejects with the signal's reason when that aborts first. */
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

async function answerUnary(ctx: RpcContext, endpoint: RpcEndpoint, request: Request): Promise<Response> {
  try {
    const call = openCall(request, false, false);
    try {
      const body = await untilAborted(runUnary(ctx, endpoint, request, call), call.signal);
      return new Response(body, { headers: call.responseHeaders });
    } finally {
      call.close();
    }
  } catch (error) {
    note(ctx, error);
    return unaryError(error);
  }
}

/** Goes on after its client has left or its time is over: the claim is released when the handler has ended. */
async function runUnary(ctx: RpcContext, { method, handler }: RpcEndpoint, request: Request, call: RpcCall): Promise<BodyInit> {
  const claim = ctx.bodies.claim();
  try {
    const input = decodeMessage(method.input, await readBody(request, bodyRules(claim)));
    call.signal.throwIfAborted();
    const output = await (handler as UnaryHandler<unknown, unknown>)(input, call);
    if (!(output instanceof EncodedMessage)) return encodeMessage(method.output, output);
    // A client that has left receives nothing.
    if (call.signal.aborted) output.onSent();
    return encodedBody(output);
  } finally {
    claim.release();
  }
}

/** The body of a message in pieces, at the client's pace. A message of one piece is sent with its length. */
function encodedBody({ pieces, onSent }: EncodedMessage): BodyInit {
  if (pieces.length <= 1) {
    onSent();
    return new Blob([...pieces]);
  }
  let next = 0;
  return new ReadableStream<Uint8Array>(
    {
      pull(controller) {
        const piece = pieces[next++];
        if (piece) return controller.enqueue(piece);
        onSent();
        controller.close();
      },
      cancel: onSent,
    },
    { highWaterMark: 0 },
  );
}

function streamFailure(ctx: Pick<AgentContext, "log">, error: unknown): Response {
  note(ctx, error);
  return new Response(Buffer.from(envelope(FLAG_END, endOfStream(error))), { headers: { ...STREAM_HEADERS, ...closing(error) } });
}

async function answerServerStream(ctx: RpcContext, { method, handler }: RpcEndpoint, request: Request): Promise<Response> {
  const { open, keepalive, ownsTimeout } = handler as ServerStreamHandler<unknown, unknown>;
  let call: OpenCall | undefined;
  try {
    call = openCall(request, true, ownsTimeout ?? false);
    const input = await untilAborted(onlyMessage(ctx, method, request), call.signal);
    const body = serverStreamBody(open(input, call), {
      output: method.output,
      keepalive,
      keepaliveMs: keepaliveOf(request.headers),
      signal: call.signal,
      trace: call.trace,
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

async function onlyMessage(ctx: RpcContext, method: AnyMethod, request: Request): Promise<unknown> {
  const claim = ctx.bodies.claim();
  try {
    const rules = bodyRules(claim);
    const message = isSmall(request) ? onlyEnvelope(await readBody(request, rules), rules.maxBytes) : await firstEnvelope(request, rules);
    if (message) return decodeMessage(method.input, message);
    throw new AppError("invalid_argument", "the request holds no message", { reason: "bad_envelope" });
  } finally {
    claim.release();
  }
}

async function firstEnvelope(request: Request, rules: BodyRules): Promise<Uint8Array | undefined> {
  const body = request.body as ReadableStream<Uint8Array> | null;
  for await (const message of readEnvelopes(body, rules, "one")) return message;
  return undefined;
}

async function answerClientStream(ctx: RpcContext, endpoint: RpcEndpoint, request: Request): Promise<Response> {
  try {
    const call = openCall(request, true, false);
    try {
      const output = await untilAborted(runClientStream(ctx, endpoint, request, call), call.signal);
      const bytes = [envelope(0, encodeMessage(endpoint.method.output, output)), envelope(FLAG_END, endOfStream())];
      return new Response(Buffer.concat(bytes), { headers: STREAM_HEADERS });
    } finally {
      call.close();
    }
  } catch (error) {
    return streamFailure(ctx, error);
  }
}

/** As `runUnary`. The current message stays claimed until the handler asks for the next one. */
async function runClientStream(ctx: RpcContext, { method, handler }: RpcEndpoint, request: Request, call: RpcCall): Promise<unknown> {
  const claim = ctx.bodies.claim();
  try {
    return await (handler as ClientStreamHandler<unknown, unknown>)(decoded(method, request, claim), call);
  } finally {
    claim.release();
  }
}

async function* decoded(method: AnyMethod, request: Request, claim: BodyClaim): AsyncGenerator<unknown> {
  const body = request.body as ReadableStream<Uint8Array> | null;
  for await (const message of readEnvelopes(body, bodyRules(claim))) yield decodeMessage(method.input, message);
}
