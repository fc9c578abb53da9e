import { AppError } from "@boxyard/core";
import { hasAccess } from "./access/token.ts";
import { type AgentContext, type HttpRoute, httpErrorOf, jsonError } from "./contracts.ts";
import { preflight, withCors } from "./http/cors.ts";
import { answerRpc, type RpcEndpoint } from "./rpc/dispatch.ts";

const NO_TOKEN = "unauthorized access, please provide a valid access token or method signing if supported";
const NOT_INITIALISED = "the sandbox is not ready yet: its platform has not initialised it";
/** Routes that are answered before the first `/init`, when there is no access token yet: without this list any client could start commands. */
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

/** Listens. Order of checks: CORS preflight, first `/init`, access token, path (404), method (405), then the operation. `onRequest` is called first, but for `/health`. */
export function serve(ctx: AgentContext, routes: AgentRoutes, listen: Listen, onRequest = () => {}): Bun.Server<undefined> {
  const table = new RouteTable(routes);
  return Bun.serve({
    ...listen,
    idleTimeout: 0,
    maxRequestBodySize: MAX_BODY_BYTES,
    development: false,
    async fetch(request) {
      // The server asks every idle agent twice a minute.
      if (!request.url.endsWith("/health")) onRequest();
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

/** All routes and RPC endpoints, by decoded path. */
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
 * Path of a request's URL, which the runtime has normalised, so that it need not be parsed. It is the path alone when the Host header is empty or
 * cannot be part of a URL.
 */
function pathOf(url: string): string {
  const start = url.startsWith("/") ? 0 : url.indexOf("/", url.indexOf("//") + 2);
  const query = url.indexOf("?", start);
  return url.slice(start, query < 0 ? url.length : query);
}

/** Decodes percent escapes, once, as the proxy does, so that both recognise `/init` in every spelling. A broken escape leaves the path as it is. */
function decoded(path: string): string {
  if (!path.includes("%")) return path;
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}
