import { AppError } from "@boxyard/core";
import type { ServerConfig } from "../../config.ts";
import type { DashboardSessions } from "../../dashboard/sessions.ts";
import type { Api, ApiBindings } from "../route.ts";
import { checkOwnPage, cookieName, PAGE_TOKEN, readCookie } from "./own-page.ts";

const PREFIX = "/dashboard/api";
/** Headers that say who calls; the session says it here. */
const CREDENTIALS = ["cookie", "x-api-key", "x-admin-token", PAGE_TOKEN];

/**
 * `/dashboard/api/<path>` is `/<path>` of the platform API for the dashboard's own page: the session stands for the API key. What an operation does
 * and whom it allows is the same as for any other client.
 */
export function mountSessionApi(
  app: Api,
  services: { readonly config: Pick<ServerConfig, "dataDir">; readonly sessions: DashboardSessions },
): void {
  const cookie = cookieName(services.config.dataDir);
  app.all(`${PREFIX}/*`, async (c) => {
    const header = (name: string) => c.req.header(name);
    checkOwnPage(header);
    const caller = await services.sessions.callerOf(readCookie(header, cookie), header(PAGE_TOKEN));
    const { raw } = c.req;
    const url = new URL(raw.url);
    url.pathname = url.pathname.slice(PREFIX.length);
    // The page and its session are no operations of the API.
    if (url.pathname.startsWith("/dashboard"))
      throw new AppError("not_found", "The API has no such operation", { reason: "no_such_route" });
    const headers = new Headers(raw.headers);
    for (const name of CREDENTIALS) headers.delete(name);
    const { env } = c;
    const bindings: ApiBindings = {
      caller,
      note: (facts) => env.note(facts),
      noted: env.noted,
      address: env.address,
      body: (maxBytes) => env.body(maxBytes),
      stream: (maxBytes) => env.stream(maxBytes),
      streamAnswer: () => env.streamAnswer(),
      trust: (hold) => env.trust(hold),
    };
    return app.fetch(new Request(url, { method: raw.method, headers, signal: raw.signal }), bindings);
  });
}
