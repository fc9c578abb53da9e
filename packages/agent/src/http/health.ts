import type { AgentState, HttpRoute } from "../contracts.ts";

/** `GET /health`: 204. The only route without access control. */
export const healthRoute: HttpRoute = {
  method: "GET",
  path: "/health",
  access: "open",
  handle: () => new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } }),
};

/** `GET /envs`: the environment that every process gets, for programs that update theirs, as the code interpreter does. */
export function envsRoute(state: AgentState): HttpRoute {
  return {
    method: "GET",
    path: "/envs",
    access: "token",
    handle: () => Response.json(state.env, { headers: { "Cache-Control": "no-store" } }),
  };
}
