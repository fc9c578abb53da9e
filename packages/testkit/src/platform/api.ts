export interface ApiCall {
  /** GET by default. */
  readonly method?: string;
  readonly path: string;
  /** Sent as JSON; a string is sent as it is. */
  readonly body?: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface ApiReply {
  readonly status: number;
  readonly headers: Headers;
  /** Parsed when the answer is JSON, else the text. */
  readonly body: unknown;
}

/** One HTTP call without any client in between. A header set to the empty string is left out. */
export async function callApi(baseUrl: string, call: ApiCall): Promise<ApiReply> {
  const headers = Object.entries(call.headers ?? {}).filter(([, value]) => value !== "");
  const hasBody = call.body !== undefined;
  const response = await fetch(baseUrl + call.path, {
    method: call.method ?? "GET",
    headers: { ...(hasBody && { "Content-Type": "application/json" }), ...Object.fromEntries(headers) },
    ...(hasBody && { body: typeof call.body === "string" ? call.body : JSON.stringify(call.body) }),
    redirect: "manual",
  });
  const text = await response.text();
  return { status: response.status, headers: response.headers, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text;
  }
}
