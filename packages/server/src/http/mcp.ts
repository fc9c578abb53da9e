import { AppError } from "@boxyard/core";
import type { HttpSessions } from "@boxyard/mcp/http";
import { actAs } from "../actor.ts";
import type { ServerConfig } from "../config.ts";
import type { Keys } from "../keys/keys.ts";
import type { ApiCall } from "../proxy/api-exchange.ts";
import { readJson } from "./body.ts";
import { publicUrl } from "./public-url.ts";

/** What the handler of `/mcp` uses. */
export interface McpServices {
  readonly config: Pick<ServerConfig, "publicUrl">;
  readonly keys: Pick<Keys, "authenticate">;
  readonly mcp: McpFront;
}

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

  /** Ends the sessions with their sandboxes, while the server still answers. */
  async close(): Promise<void> {
    await (await this.sessions)?.close();
  }
}

/** Answers a request to `/mcp`: the Model Context Protocol over streamable HTTP, for holders of an API key. */
export async function mcp(request: Request, call: ApiCall, services: McpServices): Promise<Response> {
  checkOrigin(request.headers.get("origin"), services.config.publicUrl);
  const apiKey = request.headers.get("x-api-key") ?? bearer(request.headers.get("authorization"));
  const { keyId } = await services.keys.authenticate(apiKey);
  call.trust();
  const body = request.method === "POST" ? readJson(await call.body(MAX_BODY_BYTES)) : undefined;
  const sessions = await services.mcp.load();
  const caller = {
    keyId,
    apiKey: apiKey as string,
    publicUrl: publicUrl(services.config, (name) => request.headers.get(name) ?? undefined),
  };
  return actAs({ kind: "key", id: keyId }, () => sessions.handle(request, caller, body));
}

const bearer = (field: string | null): string | undefined => /^Bearer +(\S+) *$/i.exec(field ?? "")?.[1];

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
