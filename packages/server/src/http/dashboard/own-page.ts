import { createHash } from "node:crypto";
import { AppError } from "@boxyard/core";
import { SESSION_MS } from "../../dashboard/sessions.ts";

/* How a request of the dashboard's own page is recognised, and the cookie of its session (SECURITY.md, The dashboard). */

/** Header with the page's half of the session. A page of another origin cannot send it: the server allows no credentials across origins. */
export const PAGE_TOKEN = "boxyard-dashboard";

type HeaderOf = (name: string) => string | undefined;

/**
 * Throws `permission_denied`, reason `bad_origin`, for a request that a page of another origin has made. Pages of sandboxes may be of the same site
 * as this server, so `SameSite` alone does not keep them out.
 */
export function checkOwnPage(header: HeaderOf): void {
  const site = header("sec-fetch-site");
  const origin = header("origin");
  // Browsers name the relation themselves, except to a server on plain HTTP that is not this machine. There the origin has to be the server's.
  const isOther = site === undefined ? origin !== undefined && hostOf(origin) !== header("host")?.toLowerCase() : site !== "same-origin";
  if (isOther) throw new AppError("permission_denied", "Only the dashboard's own page may ask for this", { reason: "bad_origin" });
}

const hostOf = (origin: string): string | undefined => URL.parse(origin)?.host;

/** Name of the cookie. Servers at different ports of one host share their cookies, so the name tells the data directory. */
export const cookieName = (dataDir: string): string => `boxyard_session_${createHash("sha256").update(dataDir).digest("hex").slice(0, 8)}`;

/** The value of a cookie; undefined also if there are two of this name: one of them is not of this server. */
export function readCookie(header: HeaderOf, name: string): string | undefined {
  const values = (header("cookie") ?? "")
    .split(";")
    .map((pair) => pair.trim())
    .filter((pair) => pair.startsWith(`${name}=`));
  return values.length === 1 ? values[0]?.slice(name.length + 1) : undefined;
}

/** The field `Set-Cookie`. An empty value removes the cookie. */
export function setCookie(name: string, value: string, isSecure: boolean): string {
  const age = value === "" ? 0 : SESSION_MS / 1000;
  return `${name}=${value}; Path=/dashboard; Max-Age=${age}; HttpOnly; SameSite=Strict${isSecure ? "; Secure" : ""}`;
}
