import { open, rename, rm } from "node:fs/promises";
import { type ApiClient, describe } from "../connection/api-client.ts";
import { RequestScope } from "../connection/request-scope.ts";
import { type BoxyardError, ConnectionError, type ErrorCode, errorOf } from "../errors.ts";
import type { RegistryAccess } from "./steps.ts";

export interface PushProgress {
  readonly layersDone: number;
  readonly layers: number;
  /** Bytes of the template's files that have been processed, of `bytes`. */
  readonly bytesDone: number;
  readonly bytes: number;
  /** Compressed bytes sent so far. Layers that the registry already has are not sent. */
  readonly bytesSent: number;
}

export interface PushOpts {
  /** Login of the registry. The server uses it for this push and does not store it. */
  readonly registry?: RegistryAccess | undefined;
  readonly onProgress?: ((progress: PushProgress) => void) | undefined;
  /** Aborting ends the push. The next push does not send again what the registry already has. */
  readonly signal?: AbortSignal | undefined;
}

export interface PushedImage {
  /** The full name, `HOST/NAME:TAG`. */
  readonly reference: string;
  /** Digest of the image's manifest. */
  readonly digest: string;
}

export interface ExportOpts {
  readonly onProgress?: ((progress: { readonly bytes: number; readonly totalBytes: number }) => void) | undefined;
  /** Aborting ends the export and leaves no file. */
  readonly signal?: AbortSignal | undefined;
}

export interface ExportedImage {
  readonly digest: string;
  readonly bytes: number;
}

/** Called with each piece of an archive. The next call waits for the promise of the last one. */
export type Sink = (piece: Uint8Array) => void | Promise<void>;

/** The server says something every 10 s. */
const STALL_MS = 60_000;
const MAX_LINE = 1 << 16;
const pathOf = (name: string, verb: string) => `/boxyard/templates/${encodeURIComponent(name)}/${verb}`;

export async function pushTemplate(api: ApiClient, name: string, reference: string, opts: PushOpts): Promise<PushedImage> {
  const what = `push template ${name}`;
  let rest = "";
  let last: PushEvent | undefined;
  const decoder = new TextDecoder();
  const request = { method: "POST", path: pathOf(name, "push"), body: { reference, registry: opts.registry } } as const;
  await stream(api, request, what, opts.signal, (piece) => {
    const lines = (rest + decoder.decode(piece, { stream: true })).split("\n");
    rest = (lines.pop() ?? "").slice(0, MAX_LINE);
    for (const line of lines) {
      if (line.trim() === "") continue;
      last = JSON.parse(line) as PushEvent;
      if (last.type === "progress") opts.onProgress?.(last);
    }
  });
  if (last?.type === "done") return { reference: last.reference, digest: last.digest };
  if (last?.type === "failed") throw errorOf(last.code, `${what}: ${last.message}`, { reason: last.reason });
  throw lost(what, "the answer ended early");
}

/** The archive goes into a file, which is there when it is whole, or piece by piece to a function. */
export async function exportTemplate(api: ApiClient, name: string, to: string | Sink, opts: ExportOpts): Promise<ExportedImage> {
  if (typeof to !== "string") return receive(api, name, to, opts);
  const part = `${to}.${Math.random().toString(36).slice(2, 10)}.part`;
  const file = await open(part, "wx", 0o644);
  try {
    const exported = await receive(api, name, async (piece) => void (await file.writeFile(piece)), opts);
    await file.close();
    await rename(part, to);
    return exported;
  } catch (error) {
    await file.close();
    await rm(part, { force: true });
    throw error;
  }
}

async function receive(api: ApiClient, name: string, sink: Sink, opts: ExportOpts): Promise<ExportedImage> {
  const what = `export template ${name}`;
  let bytes = 0;
  let totalBytes = 0;
  let digest = "";
  const onHead = ({ headers }: Response) => {
    totalBytes = Number(headers.get("content-length"));
    digest = headers.get("x-image-digest") ?? "";
  };
  const count = async (piece: Uint8Array) => {
    await sink(piece);
    bytes += piece.byteLength;
    opts.onProgress?.({ bytes, totalBytes });
  };
  await stream(api, { method: "GET", path: pathOf(name, "archive") }, what, opts.signal, count, onHead);
  if (bytes !== totalBytes) throw lost(what, `${bytes} of ${totalBytes} bytes came`);
  return { digest, bytes };
}

type PushEvent =
  | ({ readonly type: "progress" } & PushProgress)
  | ({ readonly type: "done" } & PushedImage)
  | { readonly type: "failed"; readonly code: ErrorCode; readonly reason: string; readonly message: string };

interface StreamRequest {
  readonly method: "GET" | "POST";
  readonly path: string;
  readonly body?: unknown;
}

/** Passes a long answer to `sink` piece by piece. It may take any time, but fails when nothing comes for `STALL_MS`. */
async function stream(
  api: ApiClient,
  request: StreamRequest,
  what: string,
  signal: AbortSignal | undefined,
  sink: Sink,
  onHead?: (response: Response) => void,
): Promise<void> {
  const scope = new RequestScope(what, 0, [signal]);
  let stalled = false;
  const stall = () => {
    stalled = true;
    scope.abort();
  };
  let timer = setTimeout(stall, STALL_MS);
  let begun = false;
  let ours: { readonly error: unknown } | undefined;
  const read = async (response: Response) => {
    begun = true;
    onHead?.(response);
    for await (const piece of response.body as unknown as AsyncIterable<Uint8Array>) {
      clearTimeout(timer);
      try {
        await sink(piece);
      } catch (error) {
        ours = { error };
        throw error;
      }
      timer = setTimeout(stall, STALL_MS);
    }
  };
  try {
    const options = { requestTimeoutMs: 0, signal: scope.signal };
    await api.send({ ...request, what, notFoundReason: "template_not_found", repeatable: false, options, read });
  } catch (error) {
    // What the caller's function has thrown is the caller's.
    if (ours) throw ours.error;
    if (stalled) throw lost(what, `nothing came for ${STALL_MS / 1000} s`, error);
    if (begun && error instanceof ConnectionError) throw lost(what, describe(error.cause), error);
    throw error;
  } finally {
    clearTimeout(timer);
    scope.dispose();
  }
}

function lost(what: string, why: string, cause?: unknown): BoxyardError {
  return new ConnectionError(`${what}: the connection was lost: ${why}`, { code: "unavailable", reason: "network_failed", cause });
}
