/** An answer with a JSON body. */
export function json(status: number, body: unknown, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(JSON.stringify(body), { status, headers: { "Content-Type": "application/json; charset=utf-8", ...headers } });
}

/** An empty 204. */
export const noContent = (): Response => new Response(null, { status: 204 });
