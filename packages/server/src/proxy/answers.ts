import { type AppError, HTTP_STATUS } from "@boxyard/core";
import { ownResponse, REASONS, type RequestHead } from "@boxyard/http1";
import { escapeHtml, htmlPage, PAGE_HEADERS } from "../html-page.ts";

/** An error that the proxy answers itself. Clients compare some of the texts, which are fixed (docs/contract/routing.md). */
export interface ProxyProblem {
  readonly status: number;
  /** Seconds after which the client may repeat the request (`Retry-After`); 1 for a 429, else not sent by default. */
  readonly retryAfter?: number;
  readonly body: Readonly<Record<string, unknown>> & { readonly message: string };
  /** The same for a person: what is missing, and what to do. */
  readonly page: { readonly title: string; readonly text: string };
}

const NOT_FOUND_MESSAGE = "The sandbox was not found";
const PORT_CLOSED_MESSAGE = "The sandbox is running but port is not open";
const CHANGING_MESSAGE = "The sandbox is still transitioning. Try again in a moment.";
const TOKEN_HEADER = "e2b-traffic-access-token";

/** Both spellings: clients read one or the other. */
const ids = (sandboxId: string) => ({ sandboxID: sandboxId, sandboxId });

export const problems = {
  sandboxNotFound: (id: string): ProxyProblem => ({
    status: 502,
    body: { ...ids(id), message: NOT_FOUND_MESSAGE, code: 502 },
    page: {
      title: "Sandbox not found",
      text: `No sandbox ${id} is running here. It may have ended or been paused, or the address may have a typing error.`,
    },
  }),
  sandboxReplaced: (id: string): ProxyProblem => ({
    status: 502,
    body: { ...ids(id), message: "The sandbox has ended, and another one has its name now", error_code: "sandbox_replaced", code: 502 },
    page: { title: "Sandbox ended", text: `The sandbox ${id} has ended, and another one has its name now.` },
  }),
  portClosed: (id: string, port: number): ProxyProblem => ({
    status: 502,
    body: { ...ids(id), message: PORT_CLOSED_MESSAGE, port, code: 502 },
    page: {
      title: `No service on port ${port}`,
      text: `The sandbox ${id} is running, but nothing in it answers HTTP on port ${port}. Start the service there, or use the port that it has.`,
    },
  }),
  internalPath: (path: string): ProxyProblem => ({
    status: 404,
    body: { message: "This path belongs to the server and cannot be reached through the sandbox's address", path, code: 404 },
    page: { title: "Not reachable", text: "This path belongs to the server and cannot be reached through the sandbox's address." },
  }),
  accessTokenWrong: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: "The sandbox is paused, and only a request with its access token in the header 'X-Access-Token' resumes it",
      code: 403,
    },
    page: { title: "Sandbox paused", text: `The sandbox ${id} is paused. Resume it with a client, or open one of its own ports.` },
  }),
  trafficTokenMissing: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: `Sandbox is secured with traffic access token. Token header '${TOKEN_HEADER}' is missing`,
      code: 403,
    },
    page: {
      title: "Traffic token missing",
      text: `The ports of the sandbox ${id} are private: a request must have the sandbox's traffic access token in the header ${TOKEN_HEADER}.`,
    },
  }),
  trafficTokenWrong: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: `Sandbox is secured with traffic access token. Provided token in header '${TOKEN_HEADER}' is invalid`,
      code: 403,
    },
    page: {
      title: "Traffic token invalid",
      text: `The ports of the sandbox ${id} are private, and the token in the header ${TOKEN_HEADER} is not the sandbox's traffic access token.`,
    },
  }),
  linkNotGood: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: "The link to this port is over, was withdrawn or is not complete",
      error_code: "link_not_valid",
      code: 403,
    },
    page: {
      title: "Link not valid",
      text: `This link to a port of the sandbox ${id} is over, was withdrawn or is not complete. Ask for a new one where you have it from.`,
    },
  }),
  tooManyConnections: (id: string, limit: number): ProxyProblem => ({
    status: 429,
    body: {
      ...ids(id),
      message: `The sandbox has too many concurrent incoming connections (limit: ${limit})`,
      connectionLimit: limit,
      details: { limit: "connections", value: limit },
      code: 429,
    },
    page: {
      title: "Too many connections",
      text: `The sandbox ${id} answers ${limit} requests at once, and there are as many. Try again in a moment.`,
    },
  }),
  tooManyTcpOfTeam: (id: string, limit: number): ProxyProblem => ({
    status: 429,
    body: {
      ...ids(id),
      message: `The sandboxes of this team have too many connections of raw TCP (limit: ${limit})`,
      connectionLimit: limit,
      details: { limit: "connections", value: limit },
      code: 429,
    },
    page: { title: "Too many connections", text: `The sandboxes of this team have ${limit} connections of raw TCP. Close some of them.` },
  }),
  tcpNeedsLink: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: `Raw TCP to a port needs a link of the port (GET /sandboxes/{id}/ports/{port}/url) or the token in the header '${TOKEN_HEADER}'`,
      error_code: "link_needed",
      code: 403,
    },
    page: { title: "Link needed", text: `A connection to a port of the sandbox ${id} other than by HTTP needs a link of the port.` },
  }),
  tcpWithBody: (id: string): ProxyProblem => ({
    status: 400,
    body: { ...ids(id), message: "A request for raw TCP is a GET without a body", code: 400 },
    page: { title: "Bad request", text: "A request for a connection of raw TCP is a GET without a body." },
  }),
  noTcpToAgent: (id: string): ProxyProblem => ({
    status: 403,
    body: { ...ids(id), message: "The port of the sandbox's agent takes no raw TCP", code: 403 },
    page: { title: "Not reachable", text: `The port of the agent of the sandbox ${id} takes requests by HTTP only.` },
  }),
  changing: (id: string): ProxyProblem => ({
    status: 409,
    retryAfter: 1,
    body: { ...ids(id), message: CHANGING_MESSAGE, code: 409 },
    page: {
      title: "Sandbox changing",
      text: `The sandbox ${id} is being paused or resumed. Try again in a moment, or resume it with a client.`,
    },
  }),
  /** `refusal` names the missing resource or the limit. Only holders of a key may see it; visitors of the sandbox only get the time of the next try. */
  noRoom: (id: string, { code, reason, details }: AppError): ProxyProblem => ({
    status: HTTP_STATUS[code],
    retryAfter: Number(details.retryAfter),
    body: {
      ...ids(id),
      message: "The sandbox is paused, and there is no room to resume it now",
      // A visitor is not told which limit of the team was met.
      ...(code === "unavailable" && { error_code: reason }),
      code: HTTP_STATUS[code],
    },
    page: { title: "Sandbox paused", text: `The sandbox ${id} is paused, and there is no room to resume it now. Try again in a moment.` },
  }),
  badSignature: (): ProxyProblem => ({
    status: 401,
    body: { code: 401, message: "invalid signature" },
    page: {
      title: "Signature not valid",
      text: "No running sandbox has signed this address. It may have ended, or the address may not be complete.",
    },
  }),
} as const;

/** Pages of any origin may read the answers: a request needs a key in a header, which a browser does not add by itself (docs/contract/routing.md, CORS). */
export const CORS: readonly (readonly [string, string])[] = [
  ["Access-Control-Allow-Origin", "*"],
  ["Access-Control-Expose-Headers", "*"],
];

/** Allows every origin, all headers and these methods (docs/contract/routing.md, CORS). `*` would not allow Authorization, so the headers asked for are listed. */
export function preflightResponse(request: RequestHead, close: boolean): Uint8Array {
  const asked = request.fields.get("access-control-request-headers") ?? "*";
  return ownResponse(
    204,
    [
      ["Access-Control-Allow-Origin", "*"],
      ["Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS"],
      ["Access-Control-Allow-Headers", asked],
      ["Access-Control-Max-Age", "7200"],
      ["Vary", "Access-Control-Request-Headers"],
    ],
    "",
    { close },
  );
}

export function plainResponse(status: number, text: string, close: boolean, head = false): Uint8Array {
  return ownResponse(status, [["Content-Type", "text/plain; charset=utf-8"], ...CORS], `${text}\n`, { close, head });
}

/** A redirect to an address on the same server; clients repeat the method and the body. */
export function redirectResponse(location: string, close: boolean): Uint8Array {
  return ownResponse(308, [["Location", location], ...CORS], "", { close });
}

export function jsonResponse(status: number, body: unknown, close: boolean, head = false, retryAfter?: number): Uint8Array {
  const fields = [["Content-Type", "application/json; charset=utf-8"] as const, ...retry(status, retryAfter), ...CORS];
  return ownResponse(status, fields, JSON.stringify(body), { close, head });
}

function retry(status: number, seconds = status === 429 ? 1 : undefined): (readonly [string, string])[] {
  return seconds === undefined ? [] : [["Retry-After", String(seconds)]];
}

/** An error as JSON for programs, as a page for browsers. */
export function problemResponse(request: RequestHead, problem: ProxyProblem, close: boolean): Uint8Array {
  const head = request.method === "HEAD";
  const { status, body, retryAfter } = problem;
  if (!wantsPage(request)) return jsonResponse(status, body, close, head, retryAfter);
  return ownResponse(status, [...PAGE_HEADERS, ...retry(status, retryAfter), ...CORS], page(problem), { close, head });
}

const BROWSER = /mozilla|chrome|safari|firefox|edge|opera|msie/i;

/** True for a request that looks like a browser that loads a page (docs/contract/routing.md, Browsers). */
function wantsPage(request: RequestHead): boolean {
  const accept = (request.fields.get("accept") ?? "").toLowerCase();
  if (accept.includes("application/json") && !accept.includes("text/html")) return false;
  if (!BROWSER.test(request.fields.get("user-agent") ?? "")) return false;
  const mode = request.fields.get("sec-fetch-mode");
  if (mode === "navigate") return true;
  if (mode !== undefined) return false;
  return !request.fields.lower.includes("x-requested-with");
}

function page({ status, page: { title, text } }: ProxyProblem): string {
  const content = `<h1>${escapeHtml(title)}</h1><p>${escapeHtml(text)}</p><small>${status} ${REASONS[status] ?? ""}</small>`;
  return htmlPage(`${title} (${status})`, content);
}
