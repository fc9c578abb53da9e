import { AppError, parseSandboxId } from "@boxyard/core";
import type { routes } from "@boxyard/spec/platform";
import type { ServerConfig } from "../../config.ts";
import { LINK_QUERY } from "../../proxy/port-link.ts";
import { publicUrl } from "../public-url.ts";
import { json, noContent } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

export const getPortUrl: HandlerOf<typeof routes.getPortUrl> = ({ caller, param, query, header }, { portUrls, config }) => {
  const id = parseSandboxId(param("sandboxID"));
  const port = portOf(param("port"));
  const { token, expiresAt, isPublic } = portUrls.make(caller.teamId, id, port, query.expires);
  const url = `${addressOf(id, port, config, publicUrl(config, header))}?${LINK_QUERY}=${token}`;
  return json(200, { url, expiresAt: new Date(expiresAt * 1000).toISOString(), isPublic });
};

export const withdrawPortUrls: HandlerOf<typeof routes.withdrawPortUrls> = async ({ caller, param }, { portUrls }) => {
  await portUrls.withdraw(caller.teamId, parseSandboxId(param("sandboxID")), portOf(param("port")));
  return noContent();
};

function portOf(text: string): number {
  const port = /^\d{1,5}$/.test(text) ? Number(text) : 0;
  if (port >= 1 && port <= 65535) return port;
  throw new AppError("invalid_argument", "port: must be from 1 to 65535", { reason: "bad_port" });
}

/** By its host name, or by its path where the server's address has no names below it. Ends with a slash. */
function addressOf(id: string, port: number, { domain }: Pick<ServerConfig, "domain">, ownUrl: string): string {
  const { protocol, hostname, host, port: ownPort } = new URL(ownUrl);
  const below =
    domain ?? (isLoopback(hostname) ? `localhost${ownPort && `:${ownPort}`}` : /^[\d.]+$|^\[/.test(hostname) ? undefined : host);
  return below === undefined ? `${ownUrl}/ports/${id}/${port}/` : `${protocol}//${port}-${id}.${below}/`;
}

const isLoopback = (name: string) => name === "localhost" || name === "[::1]" || name.startsWith("127.");
