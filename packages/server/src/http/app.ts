import { AppError, isAppError } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { routes } from "@boxyard/spec/platform";
import { Hono } from "hono";
import type { ServerConfig } from "../config.ts";
import type { Credentials } from "../keys/credentials.ts";
import type { Keys } from "../keys/keys.ts";
import type { RecentWork } from "../overview/recent.ts";
import type { TeamUse } from "../overview/team-use.ts";
import type { Instruments } from "../prometheus/instruments.ts";
import type { Store, StoreTrouble } from "../store/index.ts";
import type { TeamLimits } from "../teams/limits.ts";
import type { Teams } from "../teams/teams.ts";
import type { Templates } from "../templates/templates.ts";
import { AGENT_DOCUMENTS, agentDocument } from "./agent-documents.ts";
import { type DashboardServices, mountDashboard } from "./dashboard/index.ts";
import { errorResponse } from "./errors.ts";
import { type EventServices, mountEvents } from "./events/index.ts";
import { mountKeys } from "./keys/index.ts";
import { REQUEST_ID } from "./log.ts";
import { type McpServices, mcp } from "./mcp.ts";
import { type MetricServices, mountMetrics } from "./metrics/index.ts";
import { scrape } from "./metrics/scrape.ts";
import { mountNodes, type NodeServices } from "./nodes/index.ts";
import { mountRecordings, type RecordingServices } from "./recordings/index.ts";
import { type Api, type ApiBindings, mount } from "./route.ts";
import { mountSandboxes } from "./sandboxes/index.ts";
import type { SandboxServices } from "./sandboxes/services.ts";
import { getSdkPackage, SDK_PACKAGE_PATH, type SdkServices } from "./sdk-package.ts";
import { mountSecrets, type SecretServices } from "./secrets/index.ts";
import { mountServer, type ServerServices } from "./server/index.ts";
import { mountTeams } from "./teams/index.ts";
import { mountTemplates } from "./templates/index.ts";
import type { TemplateServices } from "./templates/services.ts";
import { mountVolumeContent, type VolumeContentServices } from "./volumes/content.ts";
import { mountVolumes, type VolumeServices } from "./volumes/index.ts";
import { mountWebhooks, type WebhookServices } from "./webhooks/index.ts";

/** The services that the platform API calls; each handler gets those of its resource. */
export interface ApiServices
  extends SandboxServices,
    TemplateServices,
    SdkServices,
    McpServices,
    VolumeServices,
    VolumeContentServices,
    MetricServices,
    EventServices,
    Pick<NodeServices, "nodes" | "run">,
    SecretServices,
    RecordingServices,
    WebhookServices,
    Pick<ServerServices, "overview">,
    DashboardServices {
  readonly config: ServerConfig;
  readonly templates: Templates;
  readonly keys: Keys;
  readonly credentials: Credentials;
  readonly teams: Teams;
  readonly logger: Logger;
  readonly store: Pick<Store, "health" | "teamSlug" | "templates">;
  readonly instruments: Instruments;
  readonly recent: Pick<RecentWork, "refused">;
  readonly limits: TeamLimits;
  readonly teamUse: TeamUse;
}

/** Codes of errors that say that a limit was met, or something is away. */
const COUNTED: ReadonlySet<string> = new Set(["resource_exhausted", "unavailable"]);

/** Header of `GET /health` while the server is degraded; its value is the reason. */
export const DEGRADED = "Boxyard-Degraded";

/** The platform API as a fetch handler. */
export function createApp(context: ApiServices): Api {
  const app = new Hono<{ Bindings: ApiBindings }>();
  mount(app, context, routes.health, () => health(context.store.health.trouble));
  mountSandboxes(app, context);
  mountTemplates(app, context);
  mountKeys(app, context);
  mountTeams(app, context);
  mountNodes(app, context);
  mountServer(app, context);
  mountMetrics(app, context);
  mountEvents(app, context);
  mountSecrets(app, context);
  mountRecordings(app, context);
  mountWebhooks(app, context);
  mountVolumes(app, context);
  mountVolumeContent(app, context);
  mountDashboard(app, context);

  app.get(
    "/openapi.json",
    jsonDocument(async () => (await import("@boxyard/spec/platform-document")).platformDocument()),
  );
  app.get(
    "/openapi/agent.json",
    jsonDocument(async () => (await import("@boxyard/spec/agent-api")).agentDocument()),
  );
  const sdkPackage = getSdkPackage(context);
  app.get(SDK_PACKAGE_PATH, (c) => sdkPackage(c.req.raw));
  for (const path of Object.keys(AGENT_DOCUMENTS) as (keyof typeof AGENT_DOCUMENTS)[]) {
    app.get(path, (c) => agentDocument(path, c.req.raw, context.config));
  }
  app.get("/metrics", (c) => scrape(c.req.raw, context));
  app.on(["GET", "POST", "DELETE"], "/mcp", (c) => mcp(c.req.raw, c.env, context));
  app.notFound((c) => {
    if (c.req.path === "/" && c.req.method === "GET" && c.req.header("accept")?.includes("text/html")) {
      return c.redirect("/dashboard");
    }
    const allow = allowedMethods(app, c.req.path);
    if (allow.length === 0) throw new AppError("not_found", `There is nothing at ${c.req.path.slice(0, 200)}`, { reason: "no_such_route" });
    throw new AppError("unimplemented", `${c.req.method} is not allowed here, only ${allow.join(", ")}`, {
      reason: "method_not_allowed",
      details: { allow: allow.join(", ") },
    });
  });
  app.onError((error, c) => {
    if (isAppError(error) && COUNTED.has(error.code)) {
      context.instruments.refused(error.reason);
      context.recent.refused(error);
    }
    return errorResponse(error, context.logger, c.req.header(REQUEST_ID));
  });
  return app;
}

/**
 * The status is 200 also while the server is degraded: sandboxes that run go on, and a load balancer that follows this status must keep
 * sending requests here.
 */
function health(trouble: StoreTrouble | undefined): Response {
  const headers = { "Content-Type": "text/plain; charset=utf-8" };
  if (!trouble) return new Response("Health check successful", { headers });
  const since = new Date(trouble.since).toISOString();
  const text = `Health check successful\nDegraded since ${since}: nothing new is made. ${trouble.message}\n`;
  return new Response(text, { headers: { ...headers, [DEGRADED]: trouble.reason } });
}

/** Serves a document that is made for the first client that asks, and not at the start of the server, which adopts sandboxes then. */
function jsonDocument(make: () => Promise<object>): () => Promise<Response> {
  let text: string | undefined;
  return async () => {
    text ??= JSON.stringify(await make());
    return new Response(text, { headers: { "Content-Type": "application/json; charset=utf-8" } });
  };
}

/** The methods of the routes at this path. */
function allowedMethods(app: Api, path: string): string[] {
  const segments = path.split("/");
  const matching = app.routes.filter((route) => {
    const pattern = route.path.split("/");
    return (
      pattern.length === segments.length && pattern.every((part, i) => (part.startsWith(":") ? segments[i] !== "" : part === segments[i]))
    );
  });
  return [...new Set(matching.map((route) => route.method))].sort();
}
