import { open, rename, rm } from "node:fs/promises";
import { describe } from "../api-client.js";
import { ConnectionError, errorOf } from "../errors.js";
import { RequestScope } from "../request-scope.js";
/** The server says something every 10 s. */
const STALL_MS = 60_000;
const MAX_LINE = 1 << 16;
const pathOf = (name, verb) => `/boxyard/templates/${encodeURIComponent(name)}/${verb}`;
export async function pushTemplate(api, name, reference, opts) {
    const what = `push template ${name}`;
    let rest = "";
    let last;
    const decoder = new TextDecoder();
    const request = { method: "POST", path: pathOf(name, "push"), body: { reference, registry: opts.registry } };
    await stream(api, request, what, opts.signal, (piece) => {
        const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
        rest = (lines.pop() ?? "").slice(0, MAX_LINE);
        for (const line of lines) {
            if (line.trim() === "")
                continue;
            last = JSON.parse(line);
            if (last.type === "progress")
                opts.onProgress?.(last);
        }
    });
    if (last?.type === "done")
        return { reference: last.reference, digest: last.digest };
    if (last?.type === "failed")
        throw errorOf(last.code, `${what}: ${last.message}`, { reason: last.reason });
    throw lost(what, "the answer ended early");
}
/** The archive goes into a file, which is there when it is whole, or piece by piece to a function. */
export async function exportTemplate(api, name, to, opts) {
    if (typeof to !== "string")
        return receive(api, name, to, opts);
    const part = `${to}.${Math.random().toString(36).slice(2, 10)}.part`;
    const file = await open(part, "wx", 0o644);
    try {
        const exported = await receive(api, name, async (piece) => void (await file.writeFile(piece)), opts);
        await file.close();
        await rename(part, to);
        return exported;
    }
    catch (error) {
        await file.close();
        await rm(part, { force: true });
        throw error;
    }
}
async function receive(api, name, sink, opts) {
    const what = `export template ${name}`;
    let bytes = 0;
    let totalBytes = 0;
    let digest = "";
    const onHead = ({ headers }) => {
        totalBytes = Number(headers.get("content-length"));
        digest = headers.get("x-image-digest") ?? "";
    };
    const count = async (piece) => {
        await sink(piece);
        bytes += piece.byteLength;
        opts.onProgress?.({ bytes, totalBytes });
    };
    await stream(api, { method: "GET", path: pathOf(name, "archive") }, what, opts.signal, count, onHead);
    if (bytes !== totalBytes)
        throw lost(what, `${bytes} of ${totalBytes} bytes came`);
    return { digest, bytes };
}
/** Hands a long answer on piece by piece; it may take any time, but not stand still. */
async function stream(api, request, what, signal, sink, onHead) {
    const scope = new RequestScope(what, 0, [signal]);
    let stalled = false;
    const stall = () => {
        stalled = true;
        scope.abort();
    };
    let timer = setTimeout(stall, STALL_MS);
    let begun = false;
    let ours;
    const read = async (response) => {
        begun = true;
        onHead?.(response);
        for await (const piece of response.body) {
            clearTimeout(timer);
            try {
                await sink(piece);
            }
            catch (error) {
                ours = { error };
                throw error;
            }
            timer = setTimeout(stall, STALL_MS);
        }
    };
    try {
        const options = { requestTimeoutMs: 0, signal: scope.signal };
        await api.send({ ...request, what, notFoundReason: "template_not_found", repeatable: false, options, read });
    }
    catch (error) {
        // What the caller's function has thrown is the caller's.
        if (ours)
            throw ours.error;
        if (stalled)
            throw lost(what, `nothing came for ${STALL_MS / 1000} s`, error);
        if (begun && error instanceof ConnectionError)
            throw lost(what, describe(error.cause), error);
        throw error;
    }
    finally {
        clearTimeout(timer);
        scope.dispose();
    }
}
function lost(what, why, cause) {
    return new ConnectionError(`${what}: the connection was lost: ${why}`, { code: "unavailable", reason: "network_failed", cause });
}
