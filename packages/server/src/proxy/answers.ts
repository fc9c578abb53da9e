import { ownResponse, REASONS, type RequestHead } from "@boxyard/http1";

/** Answers that the proxy gives itself. Texts that clients compare are exact (docs/contract/routing.md). */
export interface ProxyProblem {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>> & { readonly message: string };
}

export const NOT_FOUND_MESSAGE = "The sandbox was not found";
export const PORT_CLOSED_MESSAGE = "The sandbox is running but port is not open";

/** Both spellings (docs/contract/routing.md, Answers of the proxy). */
const ids = (sandboxId: string) => ({ sandboxID: sandboxId, sandboxId });

export const problems = {
  sandboxNotFound: (id: string): ProxyProblem => ({ status: 502, body: { ...ids(id), message: NOT_FOUND_MESSAGE, code: 502 } }),
  portClosed: (id: string, port: number): ProxyProblem => ({
    status: 502,
    body: { ...ids(id), message: PORT_CLOSED_MESSAGE, port, code: 502 },
  }),
  internalPath: (path: string): ProxyProblem => ({
    status: 404,
    body: { message: "This path belongs to the server and cannot be reached through the sandbox's address", path, code: 404 },
  }),
  trafficTokenMissing: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: "Sandbox is secured with traffic access token. Token header 'e2b-traffic-access-token' is missing",
      code: 403,
    },
  }),
  trafficTokenWrong: (id: string): ProxyProblem => ({
    status: 403,
    body: {
      ...ids(id),
      message: "Sandbox is secured with traffic access token. Provided token in header 'e2b-traffic-access-token' is invalid",
      code: 403,
    },
  }),
  tooManyConnections: (id: string, limit: number): ProxyProblem => ({
    status: 429,
    body: {
      ...ids(id),
      message: `The sandbox has too many concurrent incoming connections (limit: ${limit})`,
      connectionLimit: limit,
      code: 429,
    },
  }),
  badSignature: (): ProxyProblem => ({ status: 401, body: { code: 401, message: "invalid signature" } }),
} as const;

/** Any origin may read what we answer: the keys are in headers that a page must know anyway (docs/contract/routing.md, CORS). */
export const CORS: readonly (readonly [string, string])[] = [
  ["Access-Control-Allow-Origin", "*"],
  ["Access-Control-Expose-Headers", "*"],
];

/** docs/contract/routing.md, CORS: every origin, all headers, these methods. A `*` for headers would leave out Authorization, so the asked ones are named. */
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

export function jsonResponse(status: number, body: unknown, close: boolean, head = false): Uint8Array {
  const extra: [string, string][] = status === 429 ? [["Retry-After", "1"]] : [];
  return ownResponse(status, [["Content-Type", "application/json; charset=utf-8"], ...extra, ...CORS], JSON.stringify(body), {
    close,
    head,
  });
}

/** JSON for programs, a page for people. */
export function problemResponse(request: RequestHead, problem: ProxyProblem, close: boolean): Uint8Array {
  const head = request.method === "HEAD";
  if (!wantsPage(request)) return jsonResponse(problem.status, problem.body, close, head);
  return ownResponse(problem.status, [["Content-Type", "text/html; charset=utf-8"], ...CORS], page(problem), { close, head });
}

const BROWSER = /mozilla|chrome|safari|firefox|edge|opera|msie/i;

/** True for what looks like a person's browser loading a page (docs/contract/routing.md, Browsers). */
export function wantsPage(request: RequestHead): boolean {
  const accept = (request.fields.get("accept") ?? "").toLowerCase();
  if (accept.includes("application/json") && !accept.includes("text/html")) return false;
  if (!BROWSER.test(request.fields.get("user-agent") ?? "")) return false;
  const mode = request.fields.get("sec-fetch-mode");
  if (mode === "navigate") return true;
  if (mode !== undefined) return false;
  return !request.fields.lower.includes("x-requested-with");
}

const escapeHtml = (text: string) => text.replace(/[&<>"']/g, (c) => `&#${c.charCodeAt(0)};`);

function page(problem: ProxyProblem): string {
  const { status, body } = problem;
  const facts = [body.sandboxId ? `Sandbox ${body.sandboxId}` : "", body.port ? `port ${body.port}` : ""].filter(Boolean).join(", ");
  return (
    `<html lang="en"><head><meta charset="utf-8"><title>${status} ${REASONS[status] ?? ""}</title>` +
    "<style>body{font:16px/1.5 system-ui,sans-serif;max-width:36rem;margin:15vh auto;padding:0 1rem}small{color:#666}</style></head>" +
    `<body><h1>${escapeHtml(body.message)}</h1><p>${escapeHtml(facts)}</p><small>${status}</small></body></html>`
  );
}
