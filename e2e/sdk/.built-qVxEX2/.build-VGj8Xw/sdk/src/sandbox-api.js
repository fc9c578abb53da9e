import { withQuery } from "./file-transfer.js";
import { randomKey } from "./random-key.js";
import { accessFromJson, infoFromJson, logFromJson, metricsFromJson, } from "./sandbox-info.js";
import { undoCreate, wasGivenUp } from "./undo-create.js";
export const NO_SANDBOX = "sandbox_not_found";
/** A lifetime as the API takes it: whole seconds, rounded up. */
export const lifetimeSeconds = (timeoutMs) => Math.ceil(timeoutMs / 1000);
export const sandboxPath = (id, rest = "") => `/sandboxes/${encodeURIComponent(id)}${rest}`;
/** What is given up while it is under way is undone in the background, unless the caller named the creation and may come back for it. */
export async function createSandbox(api, opts, options) {
    const request = createRequest(opts);
    const isSent = ![api.config.signal, options.signal].some((signal) => signal?.aborted);
    try {
        return await api.send({ ...request, options });
    }
    catch (error) {
        if (isSent && opts.idempotencyKey === undefined && wasGivenUp(error)) {
            void undoCreate(api, request, (own, id) => killSandbox(own, id, {}));
        }
        throw error;
    }
}
function createRequest(opts) {
    const { lifecycle } = opts;
    return {
        method: "POST",
        path: "/v2/sandboxes",
        what: "create sandbox",
        notFoundReason: "template_not_found",
        headers: { "Idempotency-Key": opts.idempotencyKey ?? randomKey() },
        repeatable: true,
        body: {
            templateID: opts.template ?? "base",
            timeout: lifetimeSeconds(opts.timeoutMs ?? 300_000),
            ...(opts.metadata ? { metadata: opts.metadata } : {}),
            ...(opts.envs ? { envVars: opts.envs } : {}),
            ...(opts.allowInternetAccess === undefined ? {} : { allow_internet_access: opts.allowInternetAccess }),
            ...(opts.network ? { network: opts.network } : {}),
            ...(lifecycle?.onTimeout ? { autoPause: lifecycle.onTimeout === "pause" } : {}),
            ...(lifecycle?.autoResume === undefined ? {} : { autoResume: { enabled: lifecycle.autoResume } }),
        },
        read: async (response) => accessFromJson(await response.json()),
    };
}
export function connectSandbox(api, id, timeoutMs, options) {
    return api.send({
        method: "POST",
        path: `/v2${sandboxPath(id, "/connect")}`,
        what: `connect to sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        // Connecting twice is connecting once: it never shortens a lifetime.
        repeatable: true,
        options,
        body: timeoutMs === undefined ? {} : { timeout: lifetimeSeconds(timeoutMs) },
        read: async (response) => accessFromJson(await response.json()),
    });
}
export function getSandboxInfo(api, id, options) {
    return api.send({
        method: "GET",
        path: sandboxPath(id),
        what: `look at sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        options,
        read: async (response) => infoFromJson(await response.json()),
    });
}
/** False when there was no such sandbox. */
export function killSandbox(api, id, options) {
    return api.send({
        method: "DELETE",
        path: sandboxPath(id),
        what: `kill sandbox ${id}`,
        options,
        accept: [404],
        // A repeated request may meet the success of the first.
        read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
}
export function setSandboxTimeout(api, id, timeoutMs, options) {
    return api.send({
        method: "POST",
        path: sandboxPath(id, "/timeout"),
        what: `set timeout of sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        repeatable: true,
        options,
        body: { timeout: lifetimeSeconds(timeoutMs) },
        read: async () => undefined,
    });
}
export function updateSandboxNetwork(api, id, update, options) {
    const { allowInternetAccess, allowOut, denyOut } = update;
    return api.send({
        method: "PUT",
        path: sandboxPath(id, "/network"),
        what: `update network of sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        options,
        body: { allowOut, denyOut, allow_internet_access: allowInternetAccess },
        read: async () => undefined,
    });
}
export function getSandboxMetrics(api, id, range, options) {
    const query = new URLSearchParams();
    if (range.start)
        query.set("start", String(Math.floor(range.start.getTime() / 1000)));
    if (range.end)
        query.set("end", String(Math.floor(range.end.getTime() / 1000)));
    return api.send({
        method: "GET",
        path: sandboxPath(id, `/metrics${withQuery(query)}`),
        what: `read metrics of sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        options,
        read: async (response) => (await response.json()).map(metricsFromJson),
    });
}
export function getSandboxLogs(api, id, opts, options) {
    const query = new URLSearchParams({ direction: "forward" });
    if (opts.since)
        query.set("cursor", String(opts.since.getTime()));
    if (opts.level)
        query.set("level", opts.level);
    if (opts.search)
        query.set("search", opts.search);
    if (opts.limit !== undefined)
        query.set("limit", String(opts.limit));
    return api.send({
        method: "GET",
        path: `/v2${sandboxPath(id, `/logs${withQuery(query)}`)}`,
        what: `read logs of sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        options,
        read: async (response) => (await response.json()).logs.map(logFromJson),
    });
}
export function listSandboxes(api, opts, options) {
    const query = new URLSearchParams();
    if (opts.state?.length)
        query.set("state", opts.state.join(","));
    if (opts.metadata)
        query.set("metadata", new URLSearchParams(opts.metadata).toString());
    if (opts.template)
        query.set("template", opts.template);
    if (opts.order)
        query.set("order", opts.order);
    if (opts.limit !== undefined)
        query.set("limit", String(opts.limit));
    if (opts.nextToken)
        query.set("nextToken", opts.nextToken);
    return api.send({
        method: "GET",
        path: `/v2/sandboxes${withQuery(query)}`,
        what: "list sandboxes",
        options,
        read: async (response) => {
            const items = (await response.json()).map(infoFromJson);
            return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
        },
    });
}
