import { AppError } from "@boxyard/core";
import { hasAccess } from "./access/token.ts";
import { type AgentContext, type HttpRoute, httpErrorOf, jsonError } from "./contracts.ts";
import { preflight, withCors } from "./http/cors.ts";
import { answerRpc, type RpcEndpoint } from "./rpc/dispatch.ts";

const NO_TOKEN = "unauthorized access, please provide a valid access token or method signing if supported";
const NOT_INITIALISED = "the sandbox is not ready yet: its platform has not initialised it";
/** What a new agent answers before it knows whose it is. A command that came earlier would run in somebody's sandbox, with nobody's leave. */
const BEFORE_INIT: ReadonlySet<string> = new Set(["GET /health", "POST /init"]);
/** Files have no size limit here; each other operation bounds its body itself. */
const MAX_BODY_BYTES = Number.MAX_SAFE_INTEGER;

export interface AgentRoutes {
  readonly http: readonly HttpRoute[];
  readonly rpc: readonly (readonly [path: string, endpoint: RpcEndpoint])[];
}

interface Listen {
  readonly hostname: string;
  readonly port: number;
}

/** Listens. The order for every request: CORS, whether there was an `/init`, access token, then the operation; a path nobody knows is 404, a wrong method 405. */
export function serve(ctx: AgentContext, routes: AgentRoutes, listen: Listen): Bun.Server<undefined> {
  const table = new RouteTable(routes);
  return Bun.serve({
    ...listen,
    idleTimeout: 0,
    maxRequestBodySize: MAX_BODY_BYTES,
    development: false,
    async fetch(request) {
      return preflight(request) ?? withCors(request, await answer(ctx, table, request));
    },
    error(error) {
      ctx.log("request failed", error);
      return jsonError(500, "internal error");
    },
  });
}

async function answer(ctx: AgentContext, table: RouteTable, request: Request): Promise<Response> {
  const path = decoded(pathOf(request.url));
  if (!ctx.state.isInitialised && !BEFORE_INIT.has(`${request.method} ${path}`)) return jsonError(401, NOT_INITIALISED);
  const route = table.route(request.method, path);
  const isExempt = route !== undefined && route.access !== "token";
  if (!isExempt && !hasAccess(ctx.state, request.headers)) return jsonError(401, NO_TOKEN);
  const endpoint = table.endpoint(path);
  if (endpoint && request.method === "POST") return answerRpc(ctx, endpoint, request);
  if (route) return answerHttp(ctx, route, request);
  const methods = endpoint ? ["POST"] : table.methods(path);
  if (methods.length === 0) return jsonError(404, `no such path: ${path}`);
  const response = jsonError(405, `${request.method} is not possible here`);
  response.headers.set("Allow", methods.join(", "));
  return response;
}

async function answerHttp(ctx: AgentContext, route: HttpRoute, request: Request): Promise<Response> {
  try {
    return await route.handle({ request, signal: request.signal, query: new URL(request.url, "http://agent").searchParams });
  } catch (error) {
    if (!(error instanceof AppError) || error.code === "internal") ctx.log(`${route.method} ${route.path} failed`, error);
    return httpErrorOf(error);
  }
}

/** Everything that can be asked for, by decoded path. */
class RouteTable {
  private readonly http: ReadonlyMap<string, HttpRoute>;
  private readonly rpc: ReadonlyMap<string, RpcEndpoint>;

  constructor(routes: AgentRoutes) {
    this.http = new Map(routes.http.map((route) => [`${route.method} ${route.path}`, route]));
    this.rpc = new Map(routes.rpc);
  }

  route(method: string, path: string): HttpRoute | undefined {
    return this.http.get(`${method} ${path}`);
  }

  endpoint(path: string): RpcEndpoint | undefined {
    return this.rpc.get(path);
  }

  methods(path: string): string[] {
    return [...this.http.values()].filter((route) => route.path === path).map((route) => route.method);
  }
}

/**
 * Path of a URL, which the runtime has normalised: a whole parse is not needed for it. Of a request whose Host is empty, or none that could
 * be part of a URL, it has the path alone.
 */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return url.slice(start, query < 0 ? url.length : query);
}

/** Paths are matched decoded, once, as the proxy matches them: there is one spelling of `/init`, however it was sent. */
function decoded(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
