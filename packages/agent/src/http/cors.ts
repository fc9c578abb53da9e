const METHODS = "HEAD, GET, POST, PUT, PATCH, DELETE";
const EXPOSED = "Location, Cache-Control, X-Content-Type-Options, Content-Disposition, Content-Range, Boxyard-Output-Offset";

/** Answers the preflight request of a browser: every origin is allowed, since access depends on the token. Undefined for other requests. */
export function preflight(request: Request): Response | undefined {
  if (request.method !== "OPTIONS" || !request.headers.has("access-control-request-method")) return undefined;
  const headers = new Headers({
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": METHODS,
    "Access-Control-Allow-Headers": request.headers.get("access-control-request-headers") ?? "*",
    "Access-Control-Max-Age": "7200",
    Vary: "Access-Control-Request-Headers",
  });
  return new Response(null, { status: 204, headers });
}

/** Adds the headers by which a browser lets a page of any origin read the answer. */
export function withCors(request: Request, response: Response): Response {
  if (!request.headers.has("origin")) return response;
  response.headers.set("Access-Control-Allow-Origin", "*");
  response.headers.set("Access-Control-Expose-Headers", EXPOSED);
  return response;
}
