import { EventType } from "@boxyard/spec/pb/filesystem";
import { scopeFor, streamCallOptions } from "./agent-call.js";
import { agentError } from "./agent-errors.js";
import { asyncDispose } from "./async-dispose.js";
import { BoxyardError } from "./errors.js";
import { entryFromWire } from "./file-types.js";
import { letGo } from "./process-events.js";
const TYPES = {
    [EventType.UNSPECIFIED]: undefined,
    [EventType.CREATE]: "create",
    [EventType.WRITE]: "write",
    [EventType.REMOVE]: "remove",
    [EventType.RENAME]: "rename",
    [EventType.CHMOD]: "chmod",
};
const DEFAULT_WATCH_TIMEOUT_MS = 60_000;
/** A running watch. With `await using` it ends with the block. */
export class WatchHandle {
    scope;
    done;
    stopped = false;
    /** @internal Handles come from `files.watchDir`. */
    constructor(scope, run) {
        this.scope = scope;
        this.done = run(() => this.stopped);
    }
    /** Ends the watch; no event is delivered after it has resolved. */
    async stop() {
        this.stopped = true;
        this.scope.abort();
        await this.done;
    }
    [asyncDispose]() {
        return this.stop();
    }
}
/** Starts a watch; resolves when the agent watches, so that every later change is seen. */
export async function watchDir(client, context, path, onEvent, opts) {
    const what = `watch ${path}`;
    const scope = scopeFor(context, what, opts);
    const timeoutMs = opts.timeoutMs ?? DEFAULT_WATCH_TIMEOUT_MS;
    const translate = (error) => agentError(error, { what, scope, streamTimeoutMs: timeoutMs, notFoundReason: "file_not_found", probe: context.metadata.probe });
    const { recursive = false, includeEntry = false, allowNetworkMounts = false } = opts;
    try {
        scope.throwIfEnded();
        const stream = client.watchDir({ path, recursive, includeEntry, allowNetworkMounts }, streamCallOptions(scope, timeoutMs, opts.user));
        const iterator = stream[Symbol.asyncIterator]();
        await awaitStart(iterator);
        scope.begin();
        return new WatchHandle(scope, (isStopped) => deliver(iterator, onEvent, opts.onExit, scope, translate, isStopped));
    }
    catch (error) {
        scope.abort();
        scope.dispose();
        throw await translate(error);
    }
}
async function awaitStart(iterator) {
    for (;;) {
        const first = await iterator.next();
        const kind = first.done ? undefined : first.value.event.case;
        if (kind === "start")
            return;
        if (kind !== "keepalive")
            throw new BoxyardError("the agent did not confirm the watch", { code: "internal", reason: "protocol_error" });
    }
}
async function deliver(iterator, onEvent, onExit, scope, translate, isStopped) {
    let failure;
    let delivering = false;
    try {
        for (let next = await iterator.next(); !next.done && !isStopped(); next = await iterator.next()) {
            const event = next.value.event.case === "filesystem" ? eventFromWire(next.value.event.value) : undefined;
            delivering = true;
            if (event)
                await onEvent(event);
            delivering = false;
        }
    }
    catch (error) {
        if (delivering)
            failure = error instanceof Error ? error : new Error(String(error));
        else if (!isStopped())
            failure = await translate(error);
    }
    scope.abort();
    letGo(iterator);
    scope.dispose();
    await onExit?.(failure);
}
function eventFromWire(event) {
    const type = TYPES[event.type];
    return type && { name: event.name, type, ...(event.entry ? { entry: entryFromWire(event.entry) } : {}) };
}
