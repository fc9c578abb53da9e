import { AGENT_PORT } from "@boxyard/spec";
import { createConnectTransport } from "@connectrpc/connect-web";
import { errorFromResponse } from "./http-errors.js";
/** Where a sandbox's agent is reached: routing is by header, so that any server name will do. */
export function agentBaseUrl(config) {
    return config.sandboxUrl ?? config.apiUrl;
}
/** Headers that choose the sandbox and prove the right to use it. Headers that a user set for the API are never among them. */
export function agentHeaders(address) {
    return {
        "Svc-Sandbox-Id": address.sandboxId,
        "Svc-Sandbox-Port": String(AGENT_PORT),
        ...(address.accessToken ? { "X-Access-Token": address.accessToken } : {}),
    };
}
/** The transport over which {@link Commands}, {@link Pty} and {@link Files} talk to a sandbox: Connect with JSON, over `fetch`. */
export function createSandboxTransport(address) {
    const headers = Object.entries(agentHeaders(address));
    const addHeaders = (next) => (request) => {
        for (const [name, value] of headers)
            request.header.set(name, value);
        return next(request);
    };
    return createConnectTransport({
        baseUrl: address.baseUrl,
        useBinaryFormat: false,
        interceptors: [addHeaders],
        fetch: fetchAgent,
    });
}
/**
 * `fetch` that throws what the proxy and the agent's HTTP layer say in their own form (`code` is the status, as a number). Connect would
 * keep only the status, and of a stream not even the text.
 */
async function fetchAgent(input, init) {
    const response = await fetch(input, init);
    if (response.ok)
        return response;
    const copy = response.clone();
    const body = await copy.json().catch(() => undefined);
    if (typeof body?.code === "string")
        return response;
    throw await errorFromResponse(response, new URL(response.url || String(input)).pathname.slice(1));
}
const PROBE_TIMEOUT_MS = 5000;
/** Asks the sandbox's agent for its health: the way to tell "the sandbox has ended" from "the network failed". Never throws. */
export async function probeHealth(address, signal) {
    const controller = new AbortController();
    const abort = () => controller.abort();
    const timer = setTimeout(abort, PROBE_TIMEOUT_MS);
    signal?.addEventListener("abort", abort, { once: true });
    try {
        const response = await fetch(`${address.baseUrl}/health`, { headers: agentHeaders(address), signal: controller.signal });
        const text = await response.text();
        if (response.ok)
            return "running";
        return response.status === 502 && !hasPort(text) ? "ended" : "unreachable";
    }
    catch {
        return "unreachable";
    }
    finally {
        clearTimeout(timer);
        signal?.removeEventListener("abort", abort);
    }
}
/** A 502 that names a port says: the sandbox runs, nothing listens there. */
function hasPort(text) {
    try {
        return JSON.parse(text)?.port !== undefined;
    }
    catch {
        return false;
    }
}
