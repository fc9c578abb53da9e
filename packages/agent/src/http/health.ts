import type { AgentState, HttpRoute } from "../contracts.ts";

/** 204: the agent lives. The one thing anybody may ask. */
export const healthRoute: HttpRoute = {
  method: "GET",
  path: "/health",
  access: "open",
  handle: () => new Response(null, { status: 204, headers: { "Cache-Control": "no-store" } }),
};

/** The environment that every process gets, for programs that refresh theirs (the code interpreter does). */
export function envsRoute(state: AgentState): HttpRoute {
  return {
    method: "GET",
    path: "/envs",
    access: "token",
    handle: () => Response.json(state.env, { headers: { "Cache-Control": "no-store" } }),
  };
}
