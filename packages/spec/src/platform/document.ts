import { OpenAPIHono } from "@hono/zod-openapi";
import { routes } from "./routes.ts";

/** The OpenAPI document of the platform API, as served on `/openapi.json` and committed in `src/generated`. */
export function platformDocument(): object {
  const app = new OpenAPIHono();
  for (const route of Object.values(routes)) app.openAPIRegistry.registerPath(route);
  const { openAPIRegistry: registry } = app;
  registry.registerComponent("securitySchemes", "ApiKey", { type: "apiKey", in: "header", name: "X-API-Key" });
  registry.registerComponent("securitySchemes", "AccessToken", { type: "http", scheme: "bearer" });
  registry.registerComponent("securitySchemes", "AdminToken", { type: "apiKey", in: "header", name: "X-Admin-Token" });
  return app.getOpenAPI31Document({
    openapi: "3.1.0",
    info: { title: "Boxyard platform API", version: "0.1.0" },
  });
}
