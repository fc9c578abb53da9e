import { Filesystem } from "@boxyard/spec/pb/filesystem";
import { createClient } from "@connectrpc/connect";
import { scopeFor, unary } from "./agent-call.js";
import { probeHealth } from "./agent-connection.js";
import { ConflictError, InvalidArgumentError, NotFoundError } from "./errors.js";
import { readWriteInfos, transfer, transferError } from "./file-transfer.js";
import { entryFromWire } from "./file-types.js";
import { PartSize } from "./part-size.js";
import { randomKey } from "./random-key.js";
import { PART_TIMEOUT_MS, PARTS_FROM_BYTES, partsOf, sizeOf, startOf, uploadInParts, WATCHED_PARTS_FROM_BYTES, } from "./upload-parts.js";
import { watchDir } from "./watch.js";
const NO_FILE = "file_not_found";
const CLEAN_UP_TIMEOUT_MS = 10_000;
/** Reads and changes files in a sandbox. Relative paths begin at the user's home directory. */
export class Files {
    client;
    context;
    address;
    probe;
    constructor(transport, connectionConfig, metadata, address) {
        this.client = createClient(Filesystem, transport);
        this.context = { config: connectionConfig, metadata };
        this.address = address;
        this.probe = metadata.probe ?? (() => probeHealth(address));
    }
    async read(path, opts = {}) {
        const request = { method: "GET", path: "/files", query: { path, username: opts.user }, what: `read ${path}` };
        if (opts.format === "stream")
            return this.readStream(request, opts);
        return this.exchange(request, opts, async (response) => {
            if (opts.format === "bytes")
                return new Uint8Array(await response.arrayBuffer());
            return opts.format === "blob" ? response.blob() : response.text();
        });
    }
    async write(target, second, third) {
        if (typeof target === "string")
            return this.writeOne(target, second, third ?? {});
        const opts = second ?? {};
        if (target.length === 0)
            return [];
        if (!target.some(({ data }) => data instanceof ReadableStream))
            return this.writeForm(target, opts);
        const infos = [];
        for (const { path, data } of target)
            infos.push(await this.writeOne(path, data, opts));
        return infos;
    }
    /** What is in a directory, in lexical order. */
    async list(path, opts = {}) {
        const depth = opts.depth ?? 1;
        if (!Number.isInteger(depth) || depth < 1) {
            throw new InvalidArgumentError(`depth must be a whole number of at least 1, not ${depth}`, { code: "invalid_argument" });
        }
        const { entries } = await this.call(`list ${path}`, opts, (o) => this.client.listDir({ path, depth }, o));
        return entries.map(entryFromWire);
    }
    /** What is at this path. Throws `NotFoundError` when nothing is. */
    async getInfo(path, opts = {}) {
        const { entry } = await this.call(`look at ${path}`, opts, (o) => this.client.stat({ path }, o));
        if (!entry)
            throw new NotFoundError(`look at ${path}: nothing there`, { code: "not_found", reason: NO_FILE });
        return entryFromWire(entry);
    }
    async exists(path, opts = {}) {
        try {
            await this.getInfo(path, opts);
            return true;
        }
        catch (error) {
            if (error instanceof NotFoundError)
                return false;
            throw error;
        }
    }
    /** Moves a file or directory; directories on the way are made. */
    async rename(source, destination, opts = {}) {
        const { entry } = await this.call(`rename ${source}`, opts, (o) => this.client.move({ source, destination }, o));
        if (!entry)
            throw new NotFoundError(`rename ${source}: nothing there`, { code: "not_found", reason: NO_FILE });
        return entryFromWire(entry);
    }
    /** Removes a file, or a directory with all that is in it. No error when nothing is there. */
    async remove(path, opts = {}) {
        await this.call(`remove ${path}`, opts, (o) => this.client.remove({ path }, o));
    }
    /** Makes a directory and those above it. False when it was there already. */
    async makeDir(path, opts = {}) {
        try {
            await this.call(`make directory ${path}`, opts, (o) => this.client.makeDir({ path }, o));
            return true;
        }
        catch (error) {
            if (error instanceof ConflictError && error.code === "already_exists")
                return false;
            throw error;
        }
    }
    /** Calls `onEvent`, in order, for each change in a directory. Resolves when the watch has begun. */
    watchDir(path, onEvent, opts = {}) {
        return watchDir(this.client, this.context, path, onEvent, opts);
    }
    /** Joins files, in this order, into one, without copying their data, and removes them. What was at `destination` is replaced. */
    async compose(sources, destination, opts = {}) {
        const what = `compose ${destination}`;
        const body = JSON.stringify({ source_paths: sources, destination, ...(opts.user === undefined ? {} : { username: opts.user }) });
        const headers = { "Content-Type": "application/json" };
        const request = { method: "POST", path: "/files/compose", query: {}, headers, body, what };
        const [info] = await this.exchange(request, opts, (response) => readWriteInfos(response, what));
        return info;
    }
    async writeOne(path, data, opts) {
        const size = sizeOf(data);
        const partsFrom = opts.onProgress ? WATCHED_PARTS_FROM_BYTES : PARTS_FROM_BYTES;
        if (opts.metadata === undefined && (size === undefined || size >= partsFrom))
            return this.writeParts(path, data, size, opts);
        const info = await this.writeWhole(path, data, opts);
        await opts.onProgress?.({ sentBytes: size ?? 0, totalBytes: size });
        return info;
    }
    async writeWhole(path, data, opts) {
        const what = `write ${path}`;
        const headers = { "Content-Type": "application/octet-stream", ...metadataHeaders(opts.metadata) };
        const query = { path, username: opts.user };
        const request = { method: "POST", path: "/files", query, headers, body: data, what };
        const [info] = await this.exchange(request, opts, (response) => readWriteInfos(response, what));
        return info;
    }
    async writeParts(path, data, size, opts) {
        const { user } = opts;
        const requestTimeoutMs = opts.requestTimeoutMs ?? PART_TIMEOUT_MS;
        const scope = scopeFor(this.context, `write ${path}`, { signal: opts.signal, requestTimeoutMs: 0 });
        const sizes = new PartSize(size);
        const parts = partsOf(data, sizes, scope.signal);
        let sentBytes = 0;
        const onSent = async (bytes) => {
            sentBytes += bytes;
            await opts.onProgress?.({ sentBytes, totalBytes: size });
        };
        const target = {
            put: (part, bytes, signal) => this.writeWhole(part, bytes, { user, signal, requestTimeoutMs }),
            join: (sources, signal) => this.compose(sources, path, { user, signal, requestTimeoutMs }),
            cleanUp: (folder) => this.remove(folder, { user, requestTimeoutMs: CLEAN_UP_TIMEOUT_MS }).catch(() => { }),
        };
        try {
            scope.throwIfEnded();
            const [first, rest] = await startOf(parts);
            scope.throwIfEnded();
            // A short stream turns out to be small.
            if (rest)
                return await uploadInParts(target, `${path.slice(0, path.lastIndexOf("/") + 1)}.upload-${randomKey()}`, rest, sizes, onSent, scope);
            const info = await this.writeWhole(path, first ?? "", { user, signal: scope.signal, requestTimeoutMs });
            await onSent(sizeOf(first ?? "") ?? 0);
            return info;
        }
        finally {
            await parts.return();
            scope.dispose();
        }
    }
    async writeForm(entries, opts) {
        const what = `write ${entries.length} files`;
        const form = new FormData();
        for (const { path, data } of entries)
            form.append("file", data instanceof Blob ? data : new Blob([data]), path);
        const query = { username: opts.user };
        const request = { method: "POST", path: "/files", query, headers: metadataHeaders(opts.metadata), body: form, what };
        return this.exchange(request, opts, (response) => readWriteInfos(response, what));
    }
    call(what, opts, call) {
        return unary(this.context, what, { ...opts, notFoundReason: NO_FILE }, call);
    }
    async exchange(request, opts, read) {
        // An upload or download of any size is bounded by the time between its steps, not in all, when the body is a stream.
        const scope = scopeFor(this.context, request.what, opts);
        if (request.body instanceof ReadableStream && opts.requestTimeoutMs === undefined)
            scope.clearTimeout();
        try {
            return await read(await this.transfer(request, scope));
        }
        catch (error) {
            throw await transferError(error, request.what, scope, this.probe);
        }
        finally {
            scope.dispose();
        }
    }
    transfer(request, scope) {
        return transfer(this.address, request, scope, this.probe);
    }
    async readStream(request, opts) {
        const scope = scopeFor(this.context, request.what, opts);
        try {
            const response = await this.transfer(request, scope);
            scope.begin();
            const body = response.body ?? new Blob([]).stream();
            return watched(body, (error) => transferError(error, request.what, scope, this.probe), () => scope.dispose());
        }
        catch (error) {
            scope.dispose();
            throw error;
        }
    }
}
/** The same stream, with errors translated and its end noticed. */
function watched(body, translate, onEnd) {
    const reader = body.getReader();
    return new ReadableStream({
        async pull(controller) {
            try {
                const { done, value } = await reader.read();
                if (!done)
                    return controller.enqueue(value);
                controller.close();
                onEnd();
            }
            catch (error) {
                controller.error(await translate(error));
                onEnd();
            }
        },
        async cancel(reason) {
            onEnd();
            await reader.cancel(reason);
        },
    });
}
function metadataHeaders(metadata = {}) {
    return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`X-Metadata-${key}`, value]));
}
