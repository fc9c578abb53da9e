import { AppError, type Clock } from "@boxyard/core";
import type { ApiAccess } from "./access.ts";
import { lines } from "./lines.ts";

export interface CallOptions {
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Media type of a patch; `application/merge-patch+json` by default. */
  readonly patch?: string;
  readonly signal?: AbortSignal;
  /** Milliseconds until the call fails as `unavailable`. */
  readonly limitMs?: number;
}

/** One event of a watch (Kubernetes API concepts, "Efficient detection of changes"). */
export interface WatchEvent<T> {
  readonly type: "ADDED" | "MODIFIED" | "DELETED" | "BOOKMARK" | "ERROR";
  readonly object: T;
}

const LIMIT_MS = 10_000;
/** Most characters of a message of the API server that an error quotes. */
const MAX_QUOTE = 400;

/**
 * Calls the API server of a cluster. It is written on `fetch`, because the official client takes its certificates to Node's own HTTPS module, and
 * brings 20 packages for the six verbs that are needed here (docs/dependencies.md).
 *
 * Errors: `not_found` (reason `not_in_cluster`), `already_exists` (`in_cluster`), `aborted` (`changed_in_cluster`), `invalid_argument`
 * (`cluster_refused`), `permission_denied` (`cluster_forbids`), and `unavailable` (`cluster_unavailable`) for everything that may pass.
 */
export class KubeApi {
  private readonly access: ApiAccess;
  private readonly clock: Clock;

  constructor(access: ApiAccess, clock: Clock) {
    this.access = access;
    this.clock = clock;
  }

  get<T>(path: string, options: CallOptions = {}): Promise<T> {
    return this.call<T>("GET", path, options);
  }

  post<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.call<T>("POST", path, { ...options, body });
  }

  patch<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.call<T>("PATCH", path, { ...options, body });
  }

  delete<T>(path: string, body: unknown, options: CallOptions = {}): Promise<T> {
    return this.call<T>("DELETE", path, { ...options, body });
  }

  /** Opens a watch. It ends when the server ends it, and throws `unavailable` when the connection is lost. */
  async *watch<T>(path: string, query: Readonly<Record<string, string>>, signal: AbortSignal): AsyncGenerator<WatchEvent<T>> {
    const response = await this.send("GET", path, { query: { ...query, watch: "true" }, signal });
    if (!response.ok) throw await refusal(response);
    if (!response.body) return;
    try {
      for await (const line of lines(response.body)) yield JSON.parse(line) as WatchEvent<T>;
    } catch (error) {
      signal.throwIfAborted();
      throw unavailable(error);
    }
  }

  private async call<T>(method: string, path: string, { signal, limitMs = LIMIT_MS, ...options }: CallOptions): Promise<T> {
    signal?.throwIfAborted();
    const limit = new AbortController();
    const over = this.clock.sleep(limitMs, limit.signal).then(
      () => limit.abort(unavailable(new Error(`no answer within ${limitMs} ms`))),
      () => {},
    );
    try {
      const response = await this.send(method, path, {
        ...options,
        signal: signal ? AbortSignal.any([signal, limit.signal]) : limit.signal,
      });
      if (!response.ok) throw await refusal(response);
      return (await response.json()) as T;
    } catch (error) {
      signal?.throwIfAborted();
      throw error instanceof AppError ? error : unavailable(error);
    } finally {
      limit.abort();
      await over;
    }
  }

  private send(method: string, path: string, { query, body, patch, signal }: CallOptions): Promise<Response> {
    const { server, ca, cert, key, token } = this.access;
    const type = method === "PATCH" ? (patch ?? "application/merge-patch+json") : "application/json";
    return fetch(`${server}${path}${query ? `?${new URLSearchParams(query)}` : ""}`, {
      method,
      redirect: "manual",
      headers: {
        Accept: "application/json",
        ...(body !== undefined && { "Content-Type": type }),
        ...(token && { Authorization: `Bearer ${token()}` }),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
      ...(signal && { signal }),
      tls: { ...(ca && { ca }), ...(cert && key && { cert, key }) },
      // A watch is silent for minutes. Calls have a limit of their own.
      timeout: false,
    } as RequestInit).catch((error: unknown) => {
      signal?.throwIfAborted();
      throw unavailable(error);
    });
  }
}

const unavailable = (cause: unknown) =>
  new AppError("unavailable", "The API server of the cluster does not answer; try again", { reason: "cluster_unavailable", cause });

interface Status {
  readonly message?: string;
  readonly reason?: string;
}

/** The error of an answer that is no success. */
async function refusal(response: Response): Promise<AppError> {
  const { message = "", reason = "" } = await response.json().then(
    (value) => (typeof value === "object" && value !== null ? (value as Status) : {}),
    () => ({}) as Status,
  );
  const quote = `The cluster answered ${response.status}: ${(message || reason || "without a reason").slice(0, MAX_QUOTE)}`;
  const { status } = response;
  if (status === 404) return new AppError("not_found", quote, { reason: "not_in_cluster" });
  if (status === 409 && reason === "AlreadyExists") return new AppError("already_exists", quote, { reason: "in_cluster" });
  if (status === 409) return new AppError("aborted", quote, { reason: "changed_in_cluster" });
  if (status === 401 || status === 403) {
    return new AppError("permission_denied", `${quote}. docs/kubernetes.md has the rights that the server needs`, {
      reason: "cluster_forbids",
    });
  }
  if (status === 400 || status === 422) return new AppError("invalid_argument", quote, { reason: "cluster_refused" });
  return new AppError("unavailable", quote, { reason: "cluster_unavailable" });
}
