import { AuthenticationError, BoxyardError, ConnectionError } from "../errors.ts";
import { SDK_VERSION } from "../version.ts";
import type { ConnectionConfig } from "./config.ts";
import { errorFromResponse } from "./http-errors.ts";
import { type RequestOptions, RequestScope } from "./request-scope.ts";
import { ServerRuns } from "./server-runs.ts";

export interface ApiRequest<T> {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /** Path and query below the API URL, already encoded. */
  readonly path: string;
  /** What is tried, as the start of an error's sentence ("create sandbox"). */
  readonly what: string;
  readonly body?: unknown;
  /** A body that is not JSON, instead of `body`. A stream is sent once. */
  readonly bytes?: Bytes;
  readonly headers?: Readonly<Record<string, string>>;
  /** `reason` of a 404. */
  readonly notFoundReason?: string;
  /** True when doing it twice has the effect of doing it once. Default: true for all methods but POST and PATCH. */
  readonly repeatable?: boolean;
  readonly options?: RequestOptions;
  /** Reads the successful answer; `mayBeDone` says that an earlier attempt may have taken effect already. */
  readonly read: (response: Response, mayBeDone: boolean) => Promise<T>;
  /** Statuses beside 2xx that `read` understands. */
  readonly accept?: readonly number[];
}

/** Repeats after the first attempt; those that wait for an earlier attempt to end do not count. */
const MAX_REPEATS = 3;
/** An earlier attempt of this request, or another client that prepares the sandbox, is at work. */
const IN_PROGRESS: ReadonlySet<string> = new Set(["idempotency_in_progress", "sandbox_in_setup"]);
const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 10_000;

/**
 * Requests to the platform API. An attempt is repeated, with growing waits and within the one request timeout, when the server says that
 * nothing happened (429, 503, `idempotency_in_progress`), or, where repeating is safe, when the connection or a gateway failed (502, 504).
 * `Should-Retry: false` is obeyed, and so is `Retry-After` in seconds.
 */
export class ApiClient {
  readonly config: ConnectionConfig;
  readonly runs: ServerRuns;

  constructor(config: ConnectionConfig) {
    this.config = config;
    this.runs = new ServerRuns(config.apiUrl);
  }

  async send<T>(request: ApiRequest<T>): Promise<T> {
    const timeoutMs = request.options?.requestTimeoutMs ?? this.config.requestTimeoutMs;
    const scope = new RequestScope(request.what, timeoutMs, [this.config.signal, request.options?.signal]);
    const deadline = timeoutMs > 0 ? Date.now() + timeoutMs : Number.POSITIVE_INFINITY;
    try {
      let mayBeDone = false;
      for (let attempt = 0, counted = 0; ; attempt++) {
        scope.throwIfEnded();
        const outcome: Outcome<T> = await this.attempt(request, scope, mayBeDone);
        if ("value" in outcome) return outcome.value;
        mayBeDone ||= !outcome.nothingHappened;
        const waitMs = outcome.repeatAfterMs ?? Math.min(FIRST_WAIT_MS * 2 ** attempt, LONGEST_WAIT_MS) * (0.5 + Math.random() / 2);
        // Others are still at work: only the deadline says when that takes too long.
        const isCounted = !IN_PROGRESS.has(outcome.error.reason);
        if (!outcome.mayRepeat || (isCounted && counted >= MAX_REPEATS) || Date.now() + waitMs >= deadline) throw outcome.error;
        if (isCounted) counted++;
        await sleep(waitMs, scope.signal);
      }
    } finally {
      scope.dispose();
    }
  }

  private async attempt<T>(request: ApiRequest<T>, scope: RequestScope, mayBeDone: boolean): Promise<Outcome<T>> {
    const { bytes } = request;
    const isOnce = bytes instanceof ReadableStream;
    const repeatable = !isOnce && (request.repeatable ?? (request.method !== "POST" && request.method !== "PATCH"));
    let response: Response;
    try {
      const body = request.body === undefined ? bytes && (await sendableBody(bytes)) : JSON.stringify(request.body);
      response = await fetch(this.config.apiUrl + request.path, {
        method: request.method,
        headers: this.headers(request),
        signal: scope.signal,
        ...(body === undefined ? {} : { body }),
        // Required by the standard for a body that is a stream.
        ...(body instanceof ReadableStream ? { duplex: "half" } : {}),
      });
      this.runs.note(response);
      if (response.ok || request.accept?.includes(response.status)) return { value: await request.read(response, mayBeDone) };
    } catch (cause) {
      const ended = scope.failure(cause);
      if (ended) throw ended;
      if (cause instanceof BoxyardError) throw cause;
      const text = `${request.what}: no answer from ${this.config.apiUrl}. Is the server running there? (${describe(cause)})`;
      const error = new ConnectionError(text, { code: "unavailable", reason: "network_failed", cause });
      return { error, mayRepeat: repeatable, nothingHappened: false };
    }
    const error = await errorFromResponse(response, request.what, request.notFoundReason);
    scope.throwIfEnded();
    const policy = repeatPolicy(response, error, repeatable);
    return { error, ...policy, mayRepeat: policy.mayRepeat && !isOnce };
  }

  private headers(request: ApiRequest<unknown>): Record<string, string> {
    if (!this.config.apiKey) {
      const message = `${request.what}: no API key. Set BOXYARD_API_KEY (boxyard env prints it) or pass the option apiKey`;
      throw new AuthenticationError(message, { code: "unauthenticated", reason: "api_key_missing" });
    }
    return {
      ...this.config.headers,
      "X-API-Key": this.config.apiKey,
      "User-Agent": `boxyard-sdk-js/${SDK_VERSION}`,
      Accept: "application/json",
      ...(request.body === undefined ? {} : { "Content-Type": "application/json" }),
      ...(request.bytes === undefined ? {} : { "Content-Type": "application/octet-stream" }),
      ...request.headers,
    };
  }
}

type Outcome<T> =
  | { value: T }
  | { error: BoxyardError; mayRepeat: boolean /** The server says so. */; nothingHappened: boolean; repeatAfterMs?: number | undefined };

function repeatPolicy(response: Response, error: BoxyardError, repeatable: boolean) {
  const shouldRetry = response.headers.get("should-retry");
  const after = response.headers.get("retry-after");
  const repeatAfterMs = after && /^\d{1,9}$/.test(after) ? Number(after) * 1000 : undefined;
  const nothingHappened = response.status === 429 || response.status === 503 || error.reason === "idempotency_in_progress";
  const gatewayFailed = response.status === 502 || response.status === 504;
  const mayRepeat = shouldRetry === null ? nothingHappened || (gatewayFailed && repeatable) : shouldRetry === "true";
  return { mayRepeat, nothingHappened, repeatAfterMs };
}

export function describe(cause: unknown): string {
  for (let e = cause, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    const code = (e as { code?: unknown }).code;
    if (typeof code === "string") return code;
  }
  return cause instanceof Error ? cause.message : String(cause);
}

/** Waits `ms`, or less when the signal aborts; the caller checks the signal. */
export function sleep(ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal?.aborted) return resolve();
    const done = () => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal?.addEventListener("abort", done, { once: true });
  });
}

/** What a request can send as it is. */
type Bytes = string | Uint8Array<ArrayBuffer> | ArrayBuffer | Blob | ReadableStream<Uint8Array>;

/** Pages and workers of browsers say so; Node, Bun and Deno give their own names. */
const isBrowser = (): boolean => {
  const { navigator } = globalThis as { navigator?: { readonly userAgent?: string } };
  return navigator?.userAgent?.startsWith("Mozilla/") === true;
};

/** The body of a request. Browsers send no stream over HTTP/1.1, so there a stream is read to its end first. */
async function sendableBody(bytes: Bytes): Promise<Bytes> {
  if (!(bytes instanceof ReadableStream) || !isBrowser()) return bytes;
  return new Response(bytes as ReadableStream<Uint8Array<ArrayBuffer>>).blob();
}
