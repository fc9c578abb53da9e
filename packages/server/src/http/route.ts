import { ACCESS, type Declared, maxBodyBytesOf } from "@boxyard/spec/platform";
import type { RouteConfig } from "@hono/zod-openapi";
import type { Context, Hono } from "hono";
import type { z } from "zod";
import { type Actor, actAs, SERVER } from "../actor.ts";
import type { Caller, Credentials } from "../keys/credentials.ts";
import type { AccessFacts, ApiCall } from "../proxy/api-call.ts";
import { authorize } from "./authorize.ts";
import { parseAs, readJson } from "./body.ts";

type Schema<T> = T extends z.ZodType ? z.output<T> : undefined;
export type BodyOf<R> = Schema<BodySchema<R>>;
export type QueryOf<R> = Schema<QuerySchema<R>>;
type BodySchema<R> = R extends { request: { body: { content: { "application/json": { schema: infer S } } } } } ? S : undefined;
type QuerySchema<R> = R extends { request: { query: infer S } } ? S : undefined;

/** What a handler gets of a request, checked. */
export interface Input<B = undefined, Q = undefined> {
  readonly body: B;
  readonly query: Q;
  readonly caller: Caller;
  /** A path parameter, percent-decoded. */
  param(name: string): string;
  header(name: string): string | undefined;
  /** Aborts when the client has gone, or its key was revoked. */
  readonly signal: AbortSignal;
  /** Lets this call end as usual although its key is revoked meanwhile: for the call that revokes it. */
  outliveKey(): void;
  /** The body of an operation that takes no JSON, and an answer that goes out piece by piece. */
  readonly call: Pick<ApiCall, "stream" | "streamAnswer">;
}

/** Handles requests whose body and query have these types, by the services `C` of its resource; one handler may serve several routes. */
export type HandlerWith<C, B = undefined, Q = undefined> = (input: Input<B, Q>, services: C) => Response | Promise<Response>;
export type RouteHandler<C, R> = HandlerWith<C, BodyOf<R>, QueryOf<R>>;

/** What a handler finds in its environment: the call's body and connection, and the caller if a session of the dashboard has identified it. */
export interface ApiBindings extends ApiCall {
  readonly caller?: Caller;
}

/** The platform API. */
export type Api = Hono<{ Bindings: ApiBindings }>;

interface RequestParts {
  readonly body?: { required?: boolean; content: Record<string, { schema: z.ZodType }> };
  readonly query?: z.ZodType;
}

/**
 * Mounts the handler of a route of the spec. A request is authorized by what the route declares, then its query and body are read and parsed, then the
 * handler is called. The body of a caller without a valid key is not read. The call is cut when its key is revoked.
 */
export function mount<R extends RouteConfig & Declared, C extends { readonly credentials: Credentials }>(
  app: Api,
  services: C,
  route: R,
  handler: RouteHandler<C, R>,
): void {
  const path = route.path.replaceAll(/\{([^{}]+)\}/g, ":$1");
  const request = route.request as RequestParts | undefined;
  const bodySchema = request?.body?.content["application/json"]?.schema;
  const maxBytes = maxBodyBytesOf(route);
  app.on(route.method.toUpperCase(), path, async (c: Context<{ Bindings: ApiBindings }>) => {
    const header = (name: string) => c.req.header(name);
    c.env.note({ route: route.path });
    const caller = await authorize(header, route[ACCESS], services.credentials, c.env.caller);
    c.env.note(factsOf(caller));
    let isKept = false;
    if (caller.kind !== "anyone") c.env.trust((cut) => services.credentials.hold(caller, () => isKept || cut()));
    const query = request?.query ? parseAs(request.query, c.req.query(), "query") : undefined;
    let body: unknown;
    if (bodySchema) {
      const given = readJson(await c.env.body(maxBytes));
      body = parseAs(bodySchema, given === undefined && request?.body?.required === false ? {} : given, "body");
    }
    const param = (name: string) => c.req.param(name) ?? "";
    const outliveKey = () => {
      isKept = true;
    };
    const input = { body, query, caller, param, header, signal: c.req.raw.signal, call: c.env, outliveKey } as Input<BodyOf<R>, QueryOf<R>>;
    return actAs(actorOf(caller, c.env.address), () => handler(input, services));
  });
}

const factsOf = ({ kind, keyId, teamId }: Caller): AccessFacts => ({
  by: kind,
  ...(teamId !== "" && { team: teamId }),
  ...(keyId !== "" && { key: keyId }),
});

/** What events name as the cause of the changes that a caller makes. */
export function actorOf({ kind, keyId }: Caller, address: string): Actor {
  if (kind === "anyone") return SERVER;
  const from = address === "" ? {} : { address };
  return kind === "admin" ? { kind, ...from } : { kind: "key", id: keyId, ...from };
}
