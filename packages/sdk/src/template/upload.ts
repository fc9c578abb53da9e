import { createHash } from "node:crypto";
import { createReadStream, mkdtempSync, openAsBlob, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type ApiClient, describe } from "../connection/api-client.ts";
import { errorFromResponse } from "../connection/http-errors.ts";
import { type RequestOptions, RequestScope } from "../connection/request-scope.ts";
import { BoxyardError, ConnectionError, InvalidArgumentError } from "../errors.ts";
import { placeOf } from "./call-site.ts";
import { type SentSource, sourcesOf } from "./context-files.ts";
import type { ContextEntry, TextSource } from "./copy-source.ts";
import { entriesOf, hashOf } from "./files.ts";
import type { RunMount, SentStep, TemplateStep } from "./steps.ts";
import { writeTarGz } from "./tar.ts";
import { type UploadLink, uploadLink } from "./template-api.ts";
import { urlEntries } from "./url-files.ts";

/** Progress of the files of one COPY. */
export interface UploadState {
  /** Number of the step, from 1; 0 for the archive that the template begins with. */
  readonly step: number;
  /** Stage of the step; undefined for a step of the template itself. */
  readonly stage?: string | undefined;
  readonly source: string;
  /** `cached`: the server has equal files already. */
  readonly state: "packing" | "cached" | "uploading" | "uploaded";
  /** Size of the packed files, once they are packed. */
  readonly bytes: number | undefined;
}

export interface UploadOpts extends RequestOptions {
  /** True: the build does not use the cache. Default false. */
  readonly skipCache?: boolean | undefined;
  /** Called for each COPY while its files are packed and uploaded. */
  readonly onUpload?: ((state: UploadState) => void) | undefined;
}

const UPLOAD_TIMEOUT_MS = 3_600_000;

/** Uploads the files of these steps that the server does not have, and returns the steps in the form that it takes. */
export async function sendSteps(
  api: ApiClient,
  templateId: string,
  steps: readonly TemplateStep[],
  stage: string | undefined,
  opts: UploadOpts,
): Promise<SentStep[]> {
  const sent: SentStep[] = [];
  for (const [index, { copy, bound, at, ...plain }] of steps.entries()) {
    const force = plain.force || opts.skipCache === true;
    if (bound) {
      const mounts = await sendBound(api, templateId, { ...plain, bound, at }, { index, stage, force }, opts);
      sent.push({ ...plain, mounts, force });
      continue;
    }
    if (!copy) {
      sent.push({ ...plain, force });
      continue;
    }
    const [source = "", destination = ""] = plain.args;
    const tell = (state: UploadState["state"], bytes?: number) => opts.onUpload?.({ step: index + 1, stage, source, state, bytes });
    await using fetched = new FetchDirectory();
    const files = await filesOf(copy, at, fetched, opts.signal);
    const filesHash = await hashOf(files.entries, source, destination);
    await sendFiles(api, templateId, { hash: filesHash, entries: files.entries, source, again: force }, tell, opts);
    sent.push({ ...plain, ...(files.sent ? { sources: files.sent } : {}), filesHash, force });
  }
  return sent;
}

/** The mounts of a RUN, with the files that its bind mounts take out of the context. */
async function sendBound(
  api: ApiClient,
  templateId: string,
  { mounts = [], bound, at }: TemplateStep,
  { index, stage, force }: { index: number; stage: string | undefined; force: boolean },
  opts: UploadOpts,
): Promise<RunMount[]> {
  const sent: RunMount[] = [];
  for (const [i, mount] of mounts.entries()) {
    const copy = bound?.get(i);
    if (!copy) {
      sent.push(mount);
      continue;
    }
    await using fetched = new FetchDirectory();
    const files = await filesOf(copy, at, fetched, opts.signal);
    if (files.sent?.length !== 1) {
      throw new InvalidArgumentError(`RUN --mount: '${copy.sources[0]}' must name one file or directory`, { code: "invalid_argument" });
    }
    const source = copy.sources[0] ?? "";
    const filesHash = await hashOf(files.entries, source, mount.target);
    const tell = (state: UploadState["state"], bytes?: number) => opts.onUpload?.({ step: index + 1, stage, source, state, bytes });
    await sendFiles(api, templateId, { hash: filesHash, entries: files.entries, source, again: force }, tell, opts);
    sent.push({ ...mount, filesHash, sources: files.sent });
  }
  return sent;
}

type Copied = NonNullable<TemplateStep["copy"]>;

/** The files of a COPY or ADD. Errors name its place in the program or Dockerfile. */
async function filesOf(
  copy: Copied,
  at: TemplateStep["at"],
  fetched: FetchDirectory,
  signal: AbortSignal | undefined,
): Promise<{ entries: ContextEntry[]; sent?: SentSource[] }> {
  try {
    if ("text" in copy) return textEntry(copy, fetched.path);
    if ("urls" in copy) return await urlEntries(copy, fetched.path, signal);
    return "sources" in copy ? sourcesOf(copy) : { entries: entriesOf(copy) };
  } catch (error) {
    if (!(error instanceof InvalidArgumentError) || !at) throw error;
    throw new InvalidArgumentError(`${placeOf(at)}: ${error.message}`, { code: error.code, reason: error.reason, cause: error });
  }
}

function textEntry({ name, text }: TextSource, directory: string): { entries: ContextEntry[]; sent: SentSource[] } {
  const absolute = join(directory, "text");
  writeFileSync(absolute, text);
  const entry: ContextEntry = { path: name, absolute, kind: "file", mode: 0o100644, size: statSync(absolute).size, target: "" };
  return { entries: [entry], sent: [{ path: name, name }] };
}

/** A directory for what is fetched, made when it is needed. */
class FetchDirectory implements AsyncDisposable {
  private made: string | undefined;

  get path(): string {
    this.made ??= mkdtempSync(join(tmpdir(), "boxyard-add-"));
    return this.made;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.made !== undefined) rmSync(this.made, { recursive: true, force: true });
  }
}

interface Files {
  readonly hash: string;
  readonly entries: readonly ContextEntry[];
  readonly source: string;
  /** True: upload them also when the server has them. */
  readonly again: boolean;
}

type Tell = (state: UploadState["state"], bytes?: number) => void;

async function sendFiles(
  api: ApiClient,
  templateId: string,
  { hash, entries, source, again }: Files,
  tell: Tell,
  opts: UploadOpts,
): Promise<void> {
  const options = { signal: opts.signal, requestTimeoutMs: opts.requestTimeoutMs };
  const link: UploadLink = await uploadLink(api, templateId, hash, options);
  if (link.url === undefined || (link.present && !again)) return tell("cached");
  tell("packing");
  const directory = mkdtempSync(join(tmpdir(), "boxyard-build-"));
  try {
    const file = join(directory, "files.tar.gz");
    await writeTarGz(entries, file);
    const archive = await openAsBlob(file);
    tell("uploading", archive.size);
    await put(link.url, archive, link.headers, source, [api.config.signal, opts.signal]);
    tell("uploaded", archive.size);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Uploads an archive that the server does not have; returns the hash under which the server has it. */
export async function sendArchive(api: ApiClient, templateId: string, path: string, opts: UploadOpts): Promise<string> {
  const tell = (state: UploadState["state"], bytes?: number) => opts.onUpload?.({ step: 0, source: path, state, bytes });
  tell("packing");
  const sha256 = createHash("sha256");
  for await (const piece of createReadStream(path)) {
    opts.signal?.throwIfAborted();
    sha256.update(piece as Uint8Array);
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
