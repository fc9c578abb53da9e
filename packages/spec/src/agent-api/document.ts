import { OpenAPIHono } from "@hono/zod-openapi";
import { filesystemService } from "../generated/agent/filesystem.ts";
import { processService } from "../generated/agent/process.ts";
import { agentRoutes } from "./routes.ts";
import { MessageSchemas, type Service, servicePaths } from "./rpc.ts";

const ref = (name: string, description: string) => ({
  description,
  content: { "application/json": { schema: { $ref: `#/components/schemas/${name}` } } },
});

/** Error answers of a unary call; a stream says errors in its last envelope. */
const RPC_ERRORS = {
  401: ref("Error", "The access token is missing or not valid"),
  415: ref("rpc.Error", "The agent supports only the JSON codec of Connect"),
  502: ref("SandboxNotFound", "The sandbox was not found, or is not running"),
  default: ref("rpc.Error", "The call failed"),
};

/** Connect's error body: https://connectrpc.com/docs/protocol. */
const RPC_ERROR = {
  type: "object",
  required: ["code"],
  properties: { code: { type: "string", example: "not_found" }, message: { type: "string" } },
};

/** The OpenAPI document of the agent, as served on `/openapi/agent.json` and committed in `src/generated`. */
export function agentDocument(): object {
  const app = new OpenAPIHono();
  for (const route of Object.values(agentRoutes)) app.openAPIRegistry.registerPath(route);
  app.openAPIRegistry.registerComponent("securitySchemes", "AccessToken", { type: "apiKey", in: "header", name: "X-Access-Token" });
  const document = app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: {
      title: "Boxyard sandbox agent",
      version: "0.1.0",
      description: "The agent inside every sandbox, reached through the server's port with the routing headers.",
    },
  }) as { paths: Record<string, { get?: { parameters?: unknown } }>; components: { schemas: Record<string, unknown> } };
  const parameters = document.paths["/health"]?.get?.parameters;
  const schemas = new MessageSchemas();
  for (const service of [processService, filesystemService] as readonly Service[])
    Object.assign(document.paths, servicePaths(service, schemas, RPC_ERRORS, parameters));
  Object.assign(document.components.schemas, schemas.components, { "rpc.Error": RPC_ERROR });
  return document;
}
