import { ConflictError } from "./errors.js";
import { withQuery } from "./file-transfer.js";
import { errorFromResponse } from "./http-errors.js";
import { getSandboxInfo, lifetimeSeconds, NO_SANDBOX, sandboxPath } from "./sandbox-api.js";
import { accessFromJson, snapshotFromJson } from "./sandbox-info.js";
/** True when the sandbox was paused by this, false when it was paused already. */
export async function pauseSandbox(api, id, pause, options) {
    try {
        return await api.send({
            method: "POST",
            path: sandboxPath(id, "/pause"),
            what: `pause sandbox ${id}`,
            notFoundReason: NO_SANDBOX,
            options,
            body: pause.keepMemory === undefined ? {} : { memory: pause.keepMemory },
            read: async () => true,
        });
    }
    catch (error) {
        if (!(error instanceof ConflictError))
            throw error;
        if ((await getSandboxInfo(api, id, options)).state === "paused")
            return false;
        throw error;
    }
}
export function forkSandbox(api, id, fork, options) {
    const what = `fork sandbox ${id}`;
    return api.send({
        method: "POST",
        path: sandboxPath(id, "/fork"),
        what,
        notFoundReason: NO_SANDBOX,
        options,
        body: { count: fork.count ?? 1, timeout: lifetimeSeconds(fork.timeoutMs ?? 300_000) },
        read: async (response) => Promise.all((await response.json()).map((entry) => forked(entry, what))),
    });
}
async function forked(entry, what) {
    const { sandbox, error } = (entry ?? {});
    if (!error)
        return { access: accessFromJson(sandbox) };
    const { code } = error;
    const status = typeof code === "number" && code >= 400 && code < 600 ? code : 500;
    return { error: await errorFromResponse(new Response(JSON.stringify(error), { status }), what) };
}
export function createSnapshot(api, id, snapshot, options) {
    return api.send({
        method: "POST",
        path: sandboxPath(id, "/snapshots"),
        what: `snapshot sandbox ${id}`,
        notFoundReason: NO_SANDBOX,
        options,
        body: snapshot.name === undefined ? {} : { name: snapshot.name },
        read: async (response) => snapshotFromJson(await response.json()),
    });
}
export function listSnapshots(api, opts, options) {
    const query = new URLSearchParams();
    if (opts.sandboxId)
        query.set("sandboxID", opts.sandboxId);
    if (opts.name)
        query.set("name", opts.name);
    if (opts.limit !== undefined)
        query.set("limit", String(opts.limit));
    if (opts.nextToken)
        query.set("nextToken", opts.nextToken);
    return api.send({
        method: "GET",
        path: `/snapshots${withQuery(query)}`,
        what: "list snapshots",
        options,
        read: async (response) => {
            const items = (await response.json()).map(snapshotFromJson);
            return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
        },
    });
}
/** False when there was no such snapshot. */
export function deleteSnapshot(api, snapshotId, options) {
    return api.send({
        method: "DELETE",
        path: `/templates/${encodeURIComponent(snapshotId)}`,
        what: `delete snapshot ${snapshotId}`,
        options,
        accept: [404],
        read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
}
