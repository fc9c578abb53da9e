import { AGENT_PORT } from "@boxyard/spec";
import type { Interceptor, Transport } from "@connectrpc/connect";
import { createConnectTransport } from "@connectrpc/connect-web";
import type { ConnectionConfig } from "./config.ts";
import { errorFromResponse } from "./http-errors.ts";

/** Address of one sandbox's agent. */
export interface AgentAddress {
  readonly sandboxId: string;
  /** Token of this sandbox; the server returns it at create and connect. */
  readonly accessToken?: string | undefined;
  /** Base URL, without a slash at the end. */
  readonly baseUrl: string;
}

/** A sandbox gets no cookie of the server's origin, and its answers set none there. Only browsers have cookies. */
export const WITHOUT_COOKIES = { credentials: "omit" } as const;

/** Where a sandbox's agent is reached: routing is by header, so that any server name will do. */
export function agentBaseUrl(config: ConnectionConfig): string {
  return config.sandboxUrl ?? config.apiUrl;
}

/** Headers that choose a sandbox and a port of it. */
export function routingHeaders(sandboxId: string, port: number): Record<string, string> {
  return { "Svc-Sandbox-Id": sandboxId, "Svc-Sandbox-Port": String(port) };
}

/** Headers that choose the sandbox and prove the right to use it. Headers that a user set for the API are never among them. */
export function agentHeaders(address: AgentAddress): Record<string, string> {
  return {
    ...routingHeaders(address.sandboxId, AGENT_PORT),
    ...(address.accessToken ? { "X-Access-Token": address.accessToken } : {}),
  };
}

/** The transport with which {@link Commands}, {@link Pty} and {@link Files} call a sandbox's agent: Connect with JSON, over `fetch`. */
export function createSandboxTransport(address: AgentAddress): Transport {
  const headers = Object.entries(agentHeaders(address));
  const addHeaders: Interceptor = (next) => (request) => {
    for (const [name, value] of headers) request.header.set(name, value);
    return next(request);
  };
  return createConnectTransport({
    baseUrl: address.baseUrl,
    useBinaryFormat: false,
    interceptors: [addHeaders],
    fetch: fetchAgent as typeof fetch,
  });
}

/**
 * `fetch` that throws the errors of the proxy and of the agent's HTTP layer, whose bodies are not Connect's (`code` is the status, as a
 * number). Connect would keep only the status.
 */
async function fetchAgent(input: RequestInfo | URL, init?: RequestInit): Promise<Response> {
  const response = await fetch(input, { ...init, ...WITHOUT_COOKIES });
  if (response.ok) return response;
  const copy = response.clone();
  const body: unknown = await copy.json().catch(() => undefined);
  if (typeof (body as { code?: unknown } | undefined)?.code === "string") return response;
  throw await errorFromResponse(response, new URL(response.url || String(input)).pathname.slice(1));
}

/** State of a sandbox as seen from outside. */
export type SandboxHealth = "running" | "ended" | "replaced" | "unreachable";

const PROBE_TIMEOUT_MS = 5000;

/**
 * Asks the sandbox's agent for its health, to distinguish the end of the sandbox from a failure of the network. Never throws: it returns `unreachable`
 * after an abort, or if the answer takes longer than `timeoutMs` (default 5000; 0 means no limit).
 */
export async function probeHealth(address: AgentAddress, signal?: AbortSignal, timeoutMs = PROBE_TIMEOUT_MS): Promise<SandboxHealth> {
  const controller = new AbortController();
  const abort = () => controller.abort();
  const timer = timeoutMs > 0 ? setTimeout(abort, timeoutMs) : undefined;
  if (signal?.aborted) abort();
  signal?.addEventListener("abort", abort, { once: true });
  try {
    const response = await fetch(`${address.baseUrl}/health`, {
      ...WITHOUT_COOKIES,
      headers: agentHeaders(address),
      signal: controller.signal,
    });
    const text = await response.text();
    if (response.ok) return "running";
    if (response.status !== 502) return "unreachable";
    const { port, error_code: reason } = problemOf(text);
    if (port !== undefined) return "unreachable";
    return reason === "sandbox_replaced" ? "replaced" : "ended";
  } catch {
    return "unreachable";
  } finally {
    clearTimeout(timer);
    signal?.removeEventListener("abort", abort);
  }
}

/** Members of a 502. With a port the sandbox runs, and nothing listens on the port. */
function problemOf(text: string): { readonly port?: unknown; readonly error_code?: unknown } {
  try {
    return (JSON.parse(text) as object | null) ?? {};
  } catch {
    return {};
  }
}
