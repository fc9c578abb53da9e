import { Filesystem } from "@boxyard/spec/pb/filesystem";
import { type Client, createClient, type Transport } from "@connectrpc/connect";
import { type CallContext, type ModuleConfig, type ModuleMetadata, scopeFor, unary } from "../connection/agent-call.ts";
import { type AgentAddress, probeHealth } from "../connection/agent-connection.ts";
import type { Probe } from "../connection/lost-connection.ts";
import { randomKey } from "../connection/random-key.ts";
import type { RequestScope } from "../connection/request-scope.ts";
import { ConflictError, InvalidArgumentError, NotFoundError } from "../errors.ts";
import type { FileOpts, ListOpts, ReadOpts, WriteOpts } from "./file-options.ts";
import { readWriteInfos, type TransferRequest, transfer, transferError } from "./file-transfer.ts";
import { type EntryInfo, entryFromWire, type FileData, type WriteEntry, type WriteInfo } from "./file-types.ts";
import { PartSize } from "./part-size.ts";
import {
  PART_TIMEOUT_MS,
  PARTS_FROM_BYTES,
  type PartTarget,
  partsOf,
  sizeOf,
  startOf,
  type UploadData,
  uploadData,
  uploadInParts,
  WATCHED_PARTS_FROM_BYTES,
} from "./upload-parts.ts";
import { type FileEvent, type WatchHandle, type WatchOpts, watchDir } from "./watch.ts";

const NO_FILE = "file_not_found";
const CLEAN_UP_TIMEOUT_MS = 10_000;

/** Reads and changes files in a sandbox. Relative paths begin at the user's home directory. */
export class Files {
  private readonly client: Client<typeof Filesystem>;
  private readonly context: CallContext;
  private readonly address: AgentAddress;
  private readonly probe: Probe;

  constructor(transport: Transport, connectionConfig: ModuleConfig, metadata: ModuleMetadata, address: AgentAddress) {
    this.client = createClient(Filesystem, transport);
    this.context = { config: connectionConfig, metadata };
    this.address = address;
    this.probe = metadata.probe ?? (() => probeHealth(address));
  }

  /** Reads the content of a file. The request timeout limits the whole answer; with `stream`, only the time until the answer begins. */
  read(path: string, opts?: ReadOpts & { readonly format?: "text" | undefined }): Promise<string>;
  read(path: string, opts: ReadOpts & { readonly format: "bytes" }): Promise<Uint8Array>;
  read(path: string, opts: ReadOpts & { readonly format: "blob" }): Promise<Blob>;
  read(path: string, opts: ReadOpts & { readonly format: "stream" }): Promise<ReadableStream<Uint8Array>>;
  async read(path: string, opts: ReadOpts = {}): Promise<string | Uint8Array | Blob | ReadableStream<Uint8Array>> {
    const request: TransferRequest = { method: "GET", path: "/files", query: { path, username: opts.user }, what: `read ${path}` };
    if (opts.format === "stream") return this.readStream(request, opts);
    return this.exchange(request, opts, async (response) => {
      if (opts.format === "bytes") return new Uint8Array(await response.arrayBuffer());
      return opts.format === "blob" ? response.blob() : response.text();
    });
  }

  /** Reads a directory with everything in it, as a tar that is made while it is read: as a stream, or as a whole. */
  archive(path: string, opts?: ReadOpts & { readonly format?: "stream" | undefined }): Promise<ReadableStream<Uint8Array>>;
  archive(path: string, opts: ReadOpts & { readonly format: "blob" }): Promise<Blob>;
  async archive(
    path: string,
    opts: ReadOpts & { readonly format?: "stream" | "blob" | undefined } = {},
  ): Promise<Blob | ReadableStream<Uint8Array>> {
    const query = { path, username: opts.user };
    const request: TransferRequest = { method: "GET", path: "/boxyard/archive", query, what: `archive ${path}` };
    return opts.format === "blob" ? this.exchange(request, opts, (response) => response.blob()) : this.readStream(request, opts);
  }

  /**
   * Writes one file. Missing directories are created, and an existing file is replaced. Streams, and data of 16 MiB or more, are sent in parallel parts
   * to a directory beside the destination and are joined there, so that the file is never visible in part. A symbolic link is followed, not replaced.
   * The request timeout then limits each part (default 10 minutes). With `metadata`, the data is sent in one request.
   */
  write(path: string, data: FileData, opts?: WriteOpts): Promise<WriteInfo>;
  /** Writes several files, in one request unless some are streams. The results are in the order of `entries`. */
  write(entries: readonly WriteEntry[], opts?: WriteOpts): Promise<WriteInfo[]>;
  async write(target: string | readonly WriteEntry[], second?: FileData | WriteOpts, third?: WriteOpts): Promise<WriteInfo | WriteInfo[]> {
    if (typeof target === "string") return this.writeOne(target, second as FileData, third ?? {});
    const opts = (second as WriteOpts | undefined) ?? {};
    if (target.length === 0) return [];
    if (!target.some(({ data }) => data instanceof ReadableStream)) return this.writeForm(target, opts);
    const infos: WriteInfo[] = [];
    for (const { path, data } of target) infos.push(await this.writeOne(path, data, opts));
    return infos;
  }

  /** Lists a directory, in lexical order. */
  async list(path: string, opts: ListOpts = {}): Promise<EntryInfo[]> {
    const depth = opts.depth ?? 1;
    if (!Number.isInteger(depth) || depth < 1) {
      throw new InvalidArgumentError(`depth must be a whole number of at least 1, not ${depth}`, { code: "invalid_argument" });
    }
    const { entries } = await this.call(`list ${path}`, opts, (o) => this.client.listDir({ path, depth }, o));
    return entries.map(entryFromWire);
  }

  /** Describes the file or directory at a path. Throws `NotFoundError` if the path does not exist. */
  async getInfo(path: string, opts: FileOpts = {}): Promise<EntryInfo> {
    const { entry } = await this.call(`look at ${path}`, opts, (o) => this.client.stat({ path }, o));
    if (!entry) throw new NotFoundError(`look at ${path}: nothing there`, { code: "not_found", reason: NO_FILE });
    return entryFromWire(entry);
  }

  /** True if the path exists. */
  async exists(path: string, opts: FileOpts = {}): Promise<boolean> {
    try {
      await this.getInfo(path, opts);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /** Moves a file or directory. Missing directories are created. */
  async rename(source: string, destination: string, opts: FileOpts = {}): Promise<EntryInfo> {
    const { entry } = await this.call(`rename ${source}`, opts, (o) => this.client.move({ source, destination }, o));
    if (!entry) throw new NotFoundError(`rename ${source}: nothing there`, { code: "not_found", reason: NO_FILE });
    return entryFromWire(entry);
  }

  /** Removes a file, or a directory with its content. A path that does not exist is not an error. */
  async remove(path: string, opts: FileOpts = {}): Promise<void> {
    await this.call(`remove ${path}`, opts, (o) => this.client.remove({ path }, o));
  }

  /** Creates a directory and its missing parent directories. False if the directory existed already. */
  async makeDir(path: string, opts: FileOpts = {}): Promise<boolean> {
    try {
      await this.call(`make directory ${path}`, opts, (o) => this.client.makeDir({ path }, o));
      return true;
    } catch (error) {
      if (error instanceof ConflictError && error.code === "already_exists") return false;
      throw error;
    }
  }

  /** Calls `onEvent`, in order, for each change in a directory. Resolves when the watch has started. */
  watchDir(path: string, onEvent: (event: FileEvent) => void | Promise<void>, opts: WatchOpts = {}): Promise<WatchHandle> {
    return watchDir(this.client, this.context, path, onEvent, opts);
  }

  /** Joins files, in this order, into one file, without copying their data, and removes them. An existing file at `destination` is replaced. */
  async compose(sources: readonly string[], destination: string, opts: FileOpts = {}): Promise<WriteInfo> {
    const what = `compose ${destination}`;
    const body = JSON.stringify({ source_paths: sources, destination, ...(opts.user === undefined ? {} : { username: opts.user }) });
    const headers = { "Content-Type": "application/json" };
    const request: TransferRequest = { method: "POST", path: "/files/compose", query: {}, headers, body, what };
    const [info] = await this.exchange(request, opts, (response) => readWriteInfos(response, what));
    return info as WriteInfo;
  }

  private async writeOne(path: string, given: FileData, opts: WriteOpts): Promise<WriteInfo> {
    const data = uploadData(given);
    const size = sizeOf(data);
    const partsFrom = opts.onProgress ? WATCHED_PARTS_FROM_BYTES : PARTS_FROM_BYTES;
    if (opts.metadata === undefined && (size === undefined || size >= partsFrom)) return this.writeParts(path, data, size, opts);
    const info = await this.writeWhole(path, data, opts);
    await opts.onProgress?.({ sentBytes: size ?? 0, totalBytes: size });
    return info;
  }

  private async writeWhole(path: string, data: FileData, opts: WriteOpts): Promise<WriteInfo> {
    const what = `write ${path}`;
    const headers = { "Content-Type": "application/octet-stream", ...metadataHeaders(opts.metadata) };
    const query = { path, username: opts.user };
    const request: TransferRequest = { method: "POST", path: "/files", query, headers, body: data, what };
    const [info] = await this.exchange(request, opts, (response) => readWriteInfos(response, what));
    return info as WriteInfo;
  }

  private async writeParts(path: string, data: UploadData, size: number | undefined, opts: WriteOpts): Promise<WriteInfo> {
    const { user } = opts;
    const requestTimeoutMs = opts.requestTimeoutMs ?? PART_TIMEOUT_MS;
    const scope = scopeFor(this.context, `write ${path}`, { signal: opts.signal, requestTimeoutMs: 0 });
    const sizes = new PartSize(size);
    const parts = partsOf(data, sizes, scope.signal);
    let destination = path;
    let sentBytes = 0;
    const onSent = async (bytes: number) => {
      sentBytes += bytes;
      await opts.onProgress?.({ sentBytes, totalBytes: size });
    };
    const target: PartTarget = {
      put: (part, bytes, signal) => this.writeWhole(part, bytes, { user, signal, requestTimeoutMs }),
      join: (sources, signal) => this.compose(sources, destination, { user, signal, requestTimeoutMs }),
      remove: (directory) => this.remove(directory, { user, requestTimeoutMs: CLEAN_UP_TIMEOUT_MS }),
    };
    try {
      scope.throwIfEnded();
      const [first = new Uint8Array(), rest] = await startOf(parts);
      scope.throwIfEnded();
      if (rest) {
        destination = await this.linkTarget(path, { user, signal: scope.signal });
        const directory = `${destination.slice(0, destination.lastIndexOf("/") + 1)}.upload-${randomKey()}`;
        return await uploadInParts(target, directory, rest, sizes, onSent, scope);
      }
      // A short stream turns out to be small.
      const info = await this.writeWhole(path, first, { user, signal: scope.signal, requestTimeoutMs });
      await onSent(sizeOf(first) ?? 0);
      return info;
    } finally {
      await parts.return();
      scope.dispose();
    }
  }

  /** The file to replace for a path: where a symbolic link leads, so that an upload in parts writes through the link as one request does. */
  private async linkTarget(path: string, opts: FileOpts): Promise<string> {
    try {
      const link = await this.getInfo(path, opts);
      if (!link.isSymlink) return path;
      // The agent names a dangling link as its own target; an empty file written through the link creates the real target.
      if (link.symlinkTarget !== link.path) return link.symlinkTarget ?? path;
      await this.writeWhole(path, new Uint8Array(), opts);
      return (await this.getInfo(path, opts)).symlinkTarget ?? path;
    } catch (error) {
      if (error instanceof NotFoundError) return path;
      throw error;
    }
  }

  private async writeForm(entries: readonly WriteEntry[], opts: WriteOpts): Promise<WriteInfo[]> {
    const what = `write ${entries.length} files`;
    const form = new FormData();
    for (const { path, data } of entries) form.append("file", data instanceof Blob ? data : new Blob([data as BlobPart]), path);
    const query = { username: opts.user };
    const request: TransferRequest = { method: "POST", path: "/files", query, headers: metadataHeaders(opts.metadata), body: form, what };
    return this.exchange(request, opts, (response) => readWriteInfos(response, what));
  }

  private call<T>(what: string, opts: FileOpts, call: Parameters<typeof unary<T>>[3]): Promise<T> {
    return unary(this.context, what, { ...opts, notFoundReason: NO_FILE }, call);
  }

  private async exchange<T>(request: TransferRequest, opts: FileOpts, read: (response: Response) => Promise<T>): Promise<T> {
    // A streamed body may have any size, so it has no total time limit unless the caller sets one.
    const scope = scopeFor(this.context, request.what, opts);
    if (request.body instanceof ReadableStream && opts.requestTimeoutMs === undefined) scope.clearTimeout();
    try {
      return await read(await this.transfer(request, scope));
    } catch (error) {
      throw await transferError(error, request.what, scope, this.probe);
    } finally {
      scope.dispose();
    }
  }

  private transfer(request: TransferRequest, scope: RequestScope): Promise<Response> {
    return transfer(this.address, request, scope, this.probe);
  }

  private async readStream(request: TransferRequest, opts: FileOpts): Promise<ReadableStream<Uint8Array>> {
    const scope = scopeFor(this.context, request.what, opts);
    try {
      const response = await this.transfer(request, scope);
      scope.begin();
      const body = response.body ?? new Blob([]).stream();
      return watched(
        body,
        (error) => transferError(error, request.what, scope, this.probe),
        () => scope.dispose(),
      );
    } catch (error) {
      scope.dispose();
      throw error;
    }
  }
}

/** The same stream, with errors translated and its end noticed. */
function watched(
  body: ReadableStream<Uint8Array>,
  translate: (error: unknown) => Promise<Error>,
  onEnd: () => void,
): ReadableStream<Uint8Array> {
  const reader = body.getReader();
  return new ReadableStream<Uint8Array>({
    async pull(controller) {
      try {
        const { done, value } = await reader.read();
        if (!done) return controller.enqueue(value);
        controller.close();
        onEnd();
      } catch (error) {
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

function metadataHeaders(metadata: Readonly<Record<string, string>> = {}): Record<string, string> {
  return Object.fromEntries(Object.entries(metadata).map(([key, value]) => [`X-Metadata-${key}`, value]));
}
