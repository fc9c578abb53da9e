import { ownResponse, type RequestHead } from "@boxyard/http1";
import { AGENT_PORT } from "@boxyard/spec";
import type { Guarded } from "./route-table.ts";

/*
 * Access to one private port by a link (`GET /sandboxes/{id}/ports/{port}/url`). The link has a token in its query. A browser that follows it gets the
 * token as a cookie of that host name, which is the name of one port of one sandbox, and is led to the same address without the token.
 */

/** The member of the query that holds a link's token. */
export const LINK_QUERY = "boxyard_link";
/** Name of the cookie; with this prefix browsers take it from this very host alone, and over TLS. */
const COOKIE = "boxyard-link";
const HOST_COOKIE = `__Host-${COOKIE}`;

export type LinkState = "good" | "bad" | undefined;

/** A request with what it says of links read and taken away: the sandbox does not see that. */
export interface LinkedRequest {
  readonly request: RequestHead;
  /** Whether a link lets the request in: `bad` when its query has the token of one that does not. Undefined: it has none. */
  readonly link: LinkState;
  /** The field `Cookie` for the sandbox, when the request's own has a token. Empty: none. */
  readonly cookie?: string;
  /** The answer to a browser that has followed a link. */
  redirect?(close: boolean): Uint8Array;
}

export interface LinkWay {
  /** The host name of the request is that of the port. Only then is a cookie of the host one of the port. */
  readonly isByHost: boolean;
  /** The request came over TLS to the server itself. A TLS front says so in `X-Forwarded-Proto`. */
  readonly isTls: boolean;
}

export function readLink(request: RequestHead, guarded: Guarded | undefined, port: number, { isByHost, isTls }: LinkWay): LinkedRequest {
  const inQuery = request.target.includes(`${LINK_QUERY}=`) ? withoutToken(request.target) : undefined;
  const inCookie = isByHost && request.fields.lower.includes("cookie") ? withoutCookie(request) : undefined;
  if (!inQuery && !inCookie) return { request, link: undefined };
  const left = (token: string) => (port === AGENT_PORT ? undefined : guarded?.linkSeconds?.(port, token));
  const bare = inQuery ? { ...request, target: inQuery.target, derived: {} } : request;
  const cookie = inCookie && { cookie: inCookie.rest };
  const tls = isTls || isBehindTls(request);
  const seconds = inQuery && left(inQuery.token);
  if (inQuery && seconds !== undefined) {
    const keeps = isByHost && isNavigation(request) && keepsCookies(request, tls) && !/^\/[/\\]/.test(bare.target);
    return { request: bare, link: "good", ...cookie, ...(keeps && { redirect: redirectTo(bare, inQuery.token, seconds, tls) }) };
  }
  const isGood = inCookie !== undefined && isOfThisPage(request) && inCookie.tokens.some((token) => left(token) !== undefined);
  return { request: bare, link: isGood ? "good" : inQuery && "bad", ...cookie };
}

/** The target without the tokens in its query, and the last of them. */
function withoutToken(target: string): { readonly token: string; readonly target: string } | undefined {
  const mark = target.indexOf("?");
  if (mark < 0) return undefined;
  const kept: string[] = [];
  let token: string | undefined;
  for (const part of target.slice(mark + 1).split("&")) {
    if (part.startsWith(`${LINK_QUERY}=`)) token = part.slice(LINK_QUERY.length + 1);
    else kept.push(part);
  }
  if (token === undefined) return undefined;
  return { token, target: target.slice(0, mark) + (kept.length > 0 ? `?${kept.join("&")}` : "") };
}

function withoutCookie({ fields }: RequestHead): { readonly tokens: string[]; readonly rest: string } | undefined {
  const tokens: string[] = [];
  const kept: string[] = [];
  for (const part of fields.all("cookie").join("; ").split(";")) {
    const [name = "", ...value] = part.trim().split("=");
    if (name === COOKIE || name === HOST_COOKIE) tokens.push(value.join("="));
    else if (name !== "") kept.push(part.trim());
  }
  return tokens.length > 0 ? { tokens, rest: kept.join("; ") } : undefined;
}

const isNavigation = ({ method, fields }: RequestHead) =>
  (method === "GET" || method === "HEAD") && fields.get("sec-fetch-mode") === "navigate" && fields.get("sec-fetch-dest") === "document";

/**
 * Whether a browser sends the cookie of its own accord for this page alone: pages of other sandboxes are of the same site, so cookies would be sent for
 * them too. Browsers say where a request comes from on HTTPS and below `localhost` only; without that a cookie opens nothing.
 */
function isOfThisPage(request: RequestHead): boolean {
  const site = request.fields.get("sec-fetch-site");
  if (site === "same-origin" || site === "none") return true;
  return site !== undefined && isNavigation(request);
}

const isBehindTls = ({ fields }: RequestHead) => (fields.get("x-forwarded-proto") ?? "").split(",", 1)[0]?.trim().toLowerCase() === "https";
const keepsCookies = (request: RequestHead, tls: boolean) => tls || /\.localhost(:\d+)?$/i.test(request.host);

function redirectTo(request: RequestHead, token: string, seconds: number, tls: boolean): (close: boolean) => Uint8Array {
  const name = tls ? `${HOST_COOKIE}=${token}; Secure` : `${COOKIE}=${token}`;
  const fields = [
    ["Location", request.target],
    ["Set-Cookie", `${name}; Path=/; HttpOnly; SameSite=Lax; Max-Age=${seconds}`],
    ["Cache-Control", "no-store"],
    ["Referrer-Policy", "no-referrer"],
  ] as const;
  return (close) => ownResponse(303, fields, "", { close });
}
