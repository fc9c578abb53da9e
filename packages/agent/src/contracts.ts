import { AppError, type Clock, HTTP_STATUS } from "@boxyard/core";
import type { BodyBudget } from "./body/budget.ts";
import { BODY_IDLE } from "./body/read-body.ts";
import { errnoOf } from "./sys/errno-of.ts";
import type { CallTrace } from "./trace.ts";

/*
 * What the parts of the agent share: the context that every operation gets, the shape of an HTTP route and of an RPC handler, and how
 * failures become answers. Parts (`files/`, `process/`, …) import this file and never each other's insides or `server.ts`.
 */

/** A user of the sandbox's image, as `/etc/passwd` and `/etc/group` say. */
export interface SystemUser {
  readonly name: string;
  readonly uid: number;
  readonly gid: number;
  readonly home: string;
  readonly shell: string;
  /** Primary group first, then every group that lists the user; no duplicates. */
  readonly groups: readonly number[];
}

/** Every lookup sees the current files, which programs of the image may have changed. `root` is found even where the files are missing. */
export interface Users {
  byName(name: string): SystemUser | undefined;
  /** Name of a uid, or its decimal text when no entry has it. */
  userName(uid: number): string;
  /** Name of a gid, or its decimal text when no entry has it. */
  groupName(gid: number): string;
}

/** What `/init` sets. Read each member where it is used and never keep a copy: the next `/init` replaces it. */
export interface AgentState {
  /** Acting user where a request names none; undefined until set (callers then answer `no user specified`). */
  defaultUser: string | undefined;
  /** Working directory where a request names none; undefined means the acting user's home. */
  defaultWorkdir: string | undefined;
  /** False until the first accepted `/init`. Before it the agent answers only `/health` and `/init`. */
  isInitialised: boolean;
  /** Undefined: no request needs a token. */
  accessToken: string | undefined;
  /** Environment given to every process: what `/init` set, then the `E2B_*` variables, which `/init` cannot override. */
  env: Readonly<Record<string, string>>;
}

/** The sandbox's own limits (`/.boxyard/host/limits.json`); a member is undefined where the driver gave none. */
export interface SandboxLimits {
  readonly cpuCount?: number;
  readonly memoryBytes?: number;
  readonly diskBytes?: number;
  readonly maxProcesses?: number;
}

/** What every operation gets. Parts take what they need from it when they are built. */
export interface AgentContext {
  readonly state: AgentState;
  readonly users: Users;
  readonly clock: Clock;
  /** Bound on the memory of bodies that are read whole. */
  readonly bodies: BodyBudget;
  /** Keeps a line in a bounded ring in memory; never writes to standard output, which programs of the sandbox could read. */
  log(message: string, error?: unknown): void;
}

/** One HTTP request, already through access control where the route asks for it. */
export interface HttpCall {
  readonly request: Request;
  /** Aborts when the client leaves. */
  readonly signal: AbortSignal;
  /** The query, decoded; a broken percent escape stays as it was sent. */
  readonly query: URLSearchParams;
}

/**
 * `open`: needs no token. `token`: needs `X-Access-Token` when a token is set. `own`: the handler checks access itself (signed URLs, init key).
 * Exactly the routes that the contract exempts are not `token`: `GET /health`, `GET /files`, `POST /files`, `POST /init`.
 */
export type RouteAccess = "open" | "token" | "own";

export interface HttpRoute {
  readonly method: "GET" | "HEAD" | "POST";
  /** Exact path, matched on the decoded form. */
  readonly path: string;
  readonly access: RouteAccess;
  /** A thrown error becomes `{code, message}` by `httpErrorOf`. */
  handle(call: HttpCall): Response | Promise<Response>;
}

/** One RPC, already through access control. */
export interface RpcCall {
  /** The user of the Basic header; undefined when there is none. Resolve with `actingUser`. */
  readonly username: string | undefined;
  /** Aborts when the client leaves or the stream's deadline is over. */
  readonly signal: AbortSignal;
  /** `Connect-Timeout-Ms`; undefined when absent or 0. The server bounds every stream with it but `Start`, which bounds the process. */
  readonly timeoutMs: number | undefined;
  header(name: string): string | null;
  /** Set when the client asked for a trace of the call (`Boxyard-Trace`). */
  readonly trace: CallTrace | undefined;
  /** Sets a header of the answer. For a stream: before `open` returns, so not within a generator. */
  setHeader(name: string, value: string): void;
}

/** One or more whole envelopes, ready to send (`rpc/envelope.ts`), for hot paths. */
export class EncodedEnvelope {
  readonly bytes: Uint8Array;
  constructor(bytes: Uint8Array) {
    this.bytes = bytes;
  }
}

/** A whole message, already JSON in UTF-8, in pieces: for answers too large to be built as one tree of objects. */
export class EncodedMessage {
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
  /** Called once, when the client has received the message or has left. */
  readonly onSent: () => void;
  constructor(pieces: readonly Uint8Array<ArrayBuffer>[], onSent: () => void) {
    this.pieces = pieces;
    this.onSent = onSent;
  }
}

export type UnaryHandler<I, O> = (input: I, call: RpcCall) => O | EncodedMessage | Promise<O | EncodedMessage>;

export interface ServerStreamHandler<I, O> {
  /** Message that is sent when the stream was silent for `Keepalive-Ping-Interval` seconds (90 when absent). */
  readonly keepalive: O;
  /** True: the handler itself deals with `timeoutMs` (`Start`). Else the stream ends with `deadline_exceeded` when it is over. */
  readonly ownsTimeout?: boolean;
  /** Yields messages; each is flushed at once. Throwing ends the stream with the error. `return()` is called when the client leaves. */
  open(input: I, call: RpcCall): AsyncIterable<O | EncodedEnvelope>;
}

/** Gets messages as they arrive. Returning or throwing answers at once, also while the client still sends. */
export type ClientStreamHandler<I, O> = (inputs: AsyncIterable<I>, call: RpcCall) => Promise<O>;

/** The kinds of a service's methods; `@boxyard/spec/agent` exports one value of this shape for each service. */
export interface RpcMethod<Kind extends string = string, I = unknown, O = unknown> {
  readonly kind: Kind;
  /** Types only, never set. */
  readonly types?: readonly [I, O];
}

type HandlerOf<M> =
  M extends RpcMethod<"unary", infer I, infer O>
    ? UnaryHandler<I, O>
    : M extends RpcMethod<"server_stream", infer I, infer O>
      ? ServerStreamHandler<I, O>
      : M extends RpcMethod<"client_stream", infer I, infer O>
        ? ClientStreamHandler<I, O>
        : never;

/** Every method of a service with its handler: `RpcHandlers<typeof filesystemService>`. */
export type RpcHandlers<S extends { readonly methods: Readonly<Record<string, RpcMethod>> }> = {
  readonly [K in keyof S["methods"]]: HandlerOf<S["methods"][K]>;
};

/** The user a request acts as. Throws `unauthenticated` with the texts of the contract (docs/contract/agent.md, Access); HTTP routes have texts of their own. */
export function actingUser(ctx: Pick<AgentContext, "state" | "users">, username: string | undefined): SystemUser {
  const name = username ?? ctx.state.defaultUser;
  if (name === undefined) throw new AppError("unauthenticated", "no user specified", { reason: "no_user" });
  const user = ctx.users.byName(name);
  if (!user) throw new AppError("unauthenticated", `invalid username: '${name}'`, { reason: "unknown_user" });
  return user;
}

/** An `AppError` whose HTTP status is not the one of its code, such as 507 for a full disk. RPC answers use its code. */
export function httpFailure(status: number, message: string, cause?: unknown): AppError {
  const code = status === 507 ? "resource_exhausted" : (CODE_OF_STATUS[status] ?? "internal");
  return new AppError(code, message, { details: { httpStatus: status }, cause });
}

const CODE_OF_STATUS: Readonly<Record<number, AppError["code"]>> = {
  400: "invalid_argument",
  401: "unauthenticated",
  403: "permission_denied",
  404: "not_found",
  405: "unimplemented",
  406: "invalid_argument",
  409: "already_exists",
  503: "unavailable",
};

/** The error answer of the HTTP side: `{"code": <status>, "message": …}`. */
export function jsonError(status: number, message: string, headers: Readonly<Record<string, string>> = {}): Response {
  return Response.json(
    { code: status, message },
    { status, headers: { "Content-Type": "application/json; charset=utf-8", "X-Content-Type-Options": "nosniff", ...headers } },
  );
}

/** Headers of an answer to a client that stopped sending: the rest of its request is not read, so the connection is closed. */
export function closing(error: unknown): Readonly<Record<string, string>> {
  return error instanceof AppError && error.reason === BODY_IDLE ? { Connection: "close" } : {};
}

/** Message for an error that is not an `AppError`: its errno only. The error's own text may hold data of others. */
export function internalText(error: unknown): string {
  const errno = errnoOf(error);
  return errno === undefined ? "internal error" : `internal error: the sandbox's kernel answered ${errno}`;
}

/** The answer for any error of an HTTP route. */
export function httpErrorOf(error: unknown): Response {
  if (!(error instanceof AppError)) return jsonError(500, internalText(error));
  const status = error.reason === BODY_IDLE ? 408 : error.details.httpStatus;
  return jsonError(typeof status === "number" ? status : HTTP_STATUS[error.code], error.message, closing(error));
}
