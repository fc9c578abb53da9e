import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, openAsBlob, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe } from "../api-client.js";
import { BoxyardError, ConnectionError, InvalidArgumentError } from "../errors.js";
import { errorFromResponse } from "../http-errors.js";
import { RequestScope } from "../request-scope.js";
import { placeOf } from "./call-site.js";
import { sourcesOf } from "./context-files.js";
import { entriesOf, hashOf } from "./files.js";
import { writeTarGz } from "./tar.js";
import { uploadLink } from "./template-api.js";
const UPLOAD_TIMEOUT_MS = 3_600_000;
/** Makes sure that the server has the files of these steps, and gives the steps as it takes them. */
export async function sendSteps(api, templateId, steps, stage, opts) {
    const sent = [];
    for (const [index, { copy, at, ...plain }] of steps.entries()) {
        const force = plain.force || opts.skipCache === true;
        if (!copy) {
            sent.push({ ...plain, force });
            continue;
        }
        let files;
        try {
            files = "sources" in copy ? sourcesOf(copy) : { entries: entriesOf(copy) };
        }
        catch (error) {
            if (!(error instanceof InvalidArgumentError) || !at)
                throw error;
            throw new InvalidArgumentError(`${placeOf(at)}: ${error.message}`, { code: error.code, reason: error.reason, cause: error });
        }
        const [source = "", destination = ""] = plain.args;
        const filesHash = await hashOf(files.entries, source, destination);
        const tell = (state, bytes) => opts.onUpload?.({ step: index + 1, stage, source, state, bytes });
        await sendFiles(api, templateId, { hash: filesHash, entries: files.entries, source, again: force }, tell, opts);
        sent.push({ ...plain, ...(files.sent ? { sources: files.sent } : {}), filesHash, force });
    }
    return sent;
}
async function sendFiles(api, templateId, { hash, entries, source, again }, tell, opts) {
    const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
    const link = await uploadLink(api, templateId, hash, options);
    if (link.url === undefined || (link.present && !again))
        return tell("cached");
    tell("packing");
    const folder = mkdtempSync(join(tmpdir(), "boxyard-build-"));
    try {
        const file = join(folder, "files.tar.gz");
        await writeTarGz(entries, file);
        const archive = await openAsBlob(file);
        tell("uploading", archive.size);
        await put(link.url, archive, link.headers, source, [api.config.signal, opts.signal]);
        tell("uploaded", archive.size);
    }
    finally {
        rmSync(folder, { recursive: true, force: true });
    }
}
/** Makes sure that the server has an archive; the hash under which it has it. */
export async function sendArchive(api, templateId, path, opts) {
    const tell = (state, bytes) => opts.onUpload?.({ step: 0, source: path, state, bytes });
    tell("packing");
    const sha256 = createHash("sha256");
    for await (const piece of createReadStream(path)) {
        opts.signal?.throwIfAborted();
        sha256.update(piece);
    }
    const hash = sha256.digest("hex");
    const link = await uploadLink(api, templateId, hash, { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs });
    const archive = await openAsBlob(path);
    if (link.url === undefined || link.present) {
        tell("cached");
        return hash;
    }
    tell("uploading", archive.size);
    await put(link.url, archive, link.headers, path, [api.config.signal, opts.signal]);
    tell("uploaded", archive.size);
    return hash;
}
/** The URL itself is the right to upload: no key goes along. */
async function put(url, body, headers, source, signals) {
    const what = `upload ${source}`;
    const scope = new RequestScope(what, UPLOAD_TIMEOUT_MS, signals);
    try {
        scope.throwIfEnded();
        const response = await fetch(url, { method: "PUT", body, headers, signal: scope.signal });
        if (!response.ok)
            throw await errorFromResponse(response, what);
        await response.arrayBuffer();
    }
    catch (error) {
        if (error instanceof BoxyardError)
            throw error;
        const ended = scope.failure(error);
        if (ended)
            throw ended;
        const options = { code: "unavailable", reason: "network_failed", cause: error };
        throw new ConnectionError(`${what}: the connection failed (${describe(error)})`, options);
    }
    finally {
        scope.dispose();
    }
}
