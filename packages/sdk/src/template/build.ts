import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, openAsBlob, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ApiClient, describe, sleep } from "../api-client.ts";
import { BoxyardError, ConnectionError } from "../errors.ts";
import { errorFromResponse } from "../http-errors.ts";
import { type RequestOptions, RequestScope } from "../request-scope.ts";
import { entriesOf, hashOf } from "./files.ts";
import type { Step, TemplateParts, TemplateStep } from "./steps.ts";
import { writeTarGz } from "./tar.ts";
import * as calls from "./template-api.ts";
import type { BuildLogEntry } from "./template-info.ts";

/** How the files of one COPY are doing. */
export interface UploadState {
  /** Number of the step, from 1; 0 for the archive that a template begins with. */
  readonly step: number;
  readonly source: string;
  /** `cached`: the server has equal files already. */
  readonly state: "packing" | "cached" | "uploading" | "uploaded";
  /** Size of the packed files, once they are packed. */
  readonly bytes: number | undefined;
}

export interface BuildOpts extends calls.BuildResources, RequestOptions {
  /** Tags of this build. Default: `default`. */
  readonly tags?: readonly string[] | undefined;
  /** True: nothing is taken from the cache. Default false. */
  readonly skipCache?: boolean | undefined;
  /** Called for each COPY as its files are packed and uploaded. */
  readonly onUpload?: ((state: UploadState) => void) | undefined;
  /** Gets the log of the build line by line; a returned promise is waited for, an error thrown here reaches the caller. */
  readonly onLog?: ((entry: BuildLogEntry) => void | Promise<void>) | undefined;
}

/** The build failed. The log tells more. */
export class BuildError extends BoxyardError {
  override name = "BuildError";
  /** `base`, the number of a step from 1 on, or `finalize`. */
  readonly step: string | undefined;

  constructor(message: string, step: string | undefined) {
    super(message, { code: "failed_precondition", reason: "build_failed" });
    this.step = step;
  }
}

const UPLOAD_TIMEOUT_MS = 3_600_000;
const CANCEL_TIMEOUT_MS = 5000;
/** Pauses between two looks at a build: short at first, for those that come from the cache. */
const FIRST_POLL_MS = 25;
const POLL_MS = 200;

/** Uploads what the build needs and starts it. */
export async function beginBuild(api: ApiClient, parts: TemplateParts, name: string, opts: BuildOpts): Promise<calls.NewBuild> {
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  const build = await calls.requestBuild(api, name, opts.tags, opts, options);
  const steps: (Step & { filesHash?: string })[] = [];
  for (const [index, step] of parts.steps.entries()) {
    const { copy, ...plain } = step;
    const filesHash = copy && (await sendFiles(api, build.templateId, index + 1, step, opts));
    steps.push({ ...plain, ...(filesHash === undefined ? {} : { filesHash }), force: plain.force || opts.skipCache === true });
  }
  const origin =
    "fromArchive" in parts.origin
      ? { fromArchive: await sendArchive(api, build.templateId, parts.origin.fromArchive, opts) }
      : parts.origin;
  await calls.startBuild(api, build, { ...parts, origin }, steps, opts.skipCache ?? false, options);
  return build;
}

/** Follows a build to its end. An abort cancels it. */
export async function followBuild(api: ApiClient, build: calls.BuildRef, opts: BuildOpts): Promise<void> {
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  let seen = 0;
  let pauseMs = FIRST_POLL_MS;
  try {
    for (;;) {
      const { status, logs, reason } = await calls.buildStatus(api, build, seen, options);
      seen += logs.length;
      for (const entry of logs) await opts.onLog?.(entry);
      // What is logged is shown before the end is told.
      if (logs.length > 0) continue;
      if (status === "ready") return;
      if (status === "error") throw new BuildError(reason?.message ?? "the build failed", reason?.step);
      await sleep(pauseMs, opts.signal);
      pauseMs = Math.min(pauseMs * 1.5, POLL_MS);
    }
  } catch (error) {
    // With a client of its own: the signal of this one may be what ended the wait.
    const other = new ApiClient({ ...api.config, signal: undefined, requestTimeoutMs: CANCEL_TIMEOUT_MS });
    if (!(error instanceof BuildError)) await calls.cancelBuild(other, build, {}).catch(() => {});
    throw error;
  }
}

/** Makes sure that the server has an archive; the hash under which it has it. */
async function sendArchive(api: ApiClient, templateId: string, path: string, opts: BuildOpts): Promise<string> {
  const tell = (state: UploadState["state"], bytes?: number) => opts.onUpload?.({ step: 0, source: path, state, bytes });
  tell("packing");
  const sha256 = createHash("sha256");
  for await (const piece of createReadStream(path)) {
    opts.signal?.throwIfAborted();
    sha256.update(piece as Uint8Array);
  }
  const hash = sha256.digest("hex");
  const link = await calls.uploadLink(api, templateId, hash, { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs });
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

/** Makes sure that the server has a step's files; the hash under which it has them. */
async function sendFiles(api: ApiClient, templateId: string, step: number, { copy, args, force }: TemplateStep, opts: BuildOpts) {
  if (!copy) return undefined;
  const tell = (state: UploadState["state"], bytes?: number) => opts.onUpload?.({ step, source: copy.source, state, bytes });
  const entries = entriesOf(copy);
  const hash = await hashOf(entries, args[0] ?? "", args[1] ?? "");
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  const link = await calls.uploadLink(api, templateId, hash, options);
  if (link.url === undefined || (link.present && !force && !opts.skipCache)) {
    tell("cached");
    return hash;
  }
  tell("packing");
  const folder = mkdtempSync(join(tmpdir(), "boxyard-build-"));
  try {
    const file = join(folder, "files.tar.gz");
    await writeTarGz(entries, file);
    const archive = await openAsBlob(file);
    tell("uploading", archive.size);
    await put(link.url, archive, link.headers, copy.source, [api.config.signal, opts.signal]);
    tell("uploaded", archive.size);
    return hash;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** The URL itself is the right to upload: no key goes along. */
async function put(
  url: string,
  body: Blob,
  headers: Readonly<Record<string, string>>,
  source: string,
  signals: (AbortSignal | undefined)[],
) {
  const what = `upload ${source}`;
  const scope = new RequestScope(what, UPLOAD_TIMEOUT_MS, signals);
  try {
    scope.throwIfEnded();
    const response = await fetch(url, { method: "PUT", body, headers, signal: scope.signal });
    if (!response.ok) throw await errorFromResponse(response, what);
    await response.arrayBuffer();
  } catch (error) {
    if (error instanceof BoxyardError) throw error;
    const ended = scope.failure(error);
    if (ended) throw ended;
    const options = { code: "unavailable", reason: "network_failed", cause: error } as const;
    throw new ConnectionError(`${what}: the connection failed (${describe(error)})`, options);
  } finally {
    scope.dispose();
  }
}
