import { AppError } from "@boxyard/core";
import type { HttpSessions } from "@boxyard/mcp/http";
import type { Access } from "@boxyard/spec/platform";
import { actAs } from "../actor.ts";
import type { ServerConfig } from "../config.ts";
import type { Credentials } from "../keys/credentials.ts";
import type { ApiCall } from "../proxy/api-call.ts";
import { authorize, keyOf } from "./authorize.ts";
import { readJson } from "./body.ts";
import { publicUrl } from "./public-url.ts";
import { actorOf } from "./route.ts";

/** What the handler of `/mcp` uses. */
export interface McpServices {
  readonly config: Pick<ServerConfig, "publicUrl">;
  readonly credentials: Credentials;
  readonly mcp: McpFront;
}

/** Agents make and use sandboxes. */
const MCP_ACCESS: Access = { scope: "sandboxes", owner: "team" };
/** A message may hold a file that an agent writes. */
const MAX_BODY_BYTES = 16 << 20;
const LOOPBACK = /^(localhost|127\.[\d.]+|\[::1\])$/;

/**
 * The sessions of agents (docs/mcp.md). They call this server over its own address, as any client does. Their code is loaded for the first request: it
 * takes memory and time that a server without agents does not need.
 */
export class McpFront {
  private readonly ownUrl: () => string;
  private sessions: Promise<HttpSessions> | undefined;

  constructor(ownUrl: () => string) {
    this.ownUrl = ownUrl;
  }

  load(): Promise<HttpSessions> {
    this.sessions ??= import("@boxyard/mcp/http").then(({ HttpSessions }) => new HttpSessions({ apiUrl: this.ownUrl }));
    return this.sessions;
  }

  /** Ends the sessions of a key that was revoked. Their sandboxes live until their timeouts: nobody may end them with that key any more. */
  async endOf(keyId: string): Promise<void> {
    await (await this.sessions)?.endOf(keyId);
  }

  /** Ends the sessions with their sandboxes, while the server still answers. */
  async close(): Promise<void> {
    await (await this.sessions)?.close();
  }
}

/** Answers a request to `/mcp`: the Model Context Protocol over streamable HTTP, for holders of an API key. */
export async function mcp(request: Request, call: ApiCall, services: McpServices): Promise<Response> {
  checkOrigin(request.headers.get("origin"), services.config.publicUrl);
  const header = (name: string) => request.headers.get(name) ?? undefined;
  const caller = await authorize(header, MCP_ACCESS, services.credentials);
  const apiKey = keyOf(header);
  if (apiKey === undefined)
    throw new AppError("unauthenticated", "MCP needs an API key, in X-API-Key or as a bearer", { reason: "api_key_missing" });
  call.trust((cut) => services.credentials.hold(caller, cut));
  const body = request.method === "POST" ? readJson(await call.body(MAX_BODY_BYTES)) : undefined;
  const sessions = await services.mcp.load();
  const client = { keyId: caller.keyId, apiKey, publicUrl: publicUrl(services.config, header) };
  return actAs(actorOf(caller, call.address), () => sessions.handle(request, client, body));
}

/**
 * A browser names the origin of the page that asks. Only pages of this machine and of the server's public address may: a page elsewhere could reach a
 * server on loopback by a name that leads there. Pages of sandboxes have other host names, below `localhost`.
 */
function checkOrigin(origin: string | null, ownUrl: string | undefined): void {
  if (origin === null) return;
  const url = URL.canParse(origin) ? new URL(origin) : undefined;
  if (url && (LOOPBACK.test(url.hostname) || (ownUrl !== undefined && url.origin === new URL(ownUrl).origin))) return;
  throw new AppError("permission_denied", "Pages of this origin may not use /mcp; BOXYARD_PUBLIC_URL names the server's own", {
    reason: "bad_origin",
  });
}
