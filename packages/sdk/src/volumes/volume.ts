import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient, type ApiRequest } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { randomKey } from "../connection/random-key.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { withQuery } from "../connection/with-query.ts";
import { NotFoundError } from "../errors.ts";
import type { FileData } from "../files/file-types.ts";
import { VolumeFiles } from "./volume-files.ts";
import { type VolumeInfo, volumeFromJson } from "./volume-types.ts";

export interface VolumeSizeOptions {
  /** Most MiB that its files may take. Default: the server's `BOXYARD_VOLUME_MB`, 10240; for a copy the size of its source. */
  readonly sizeMB?: number | undefined;
}

export interface VolumeCreateOpts extends ConnectionOptions, VolumeSizeOptions {}

/** Makes a creation repeatable. */
export interface VolumeKeyOptions {
  /** Identifies this creation: another call with the same key returns the same volume. Default: a new key for each call, whose repeats are one creation. */
  readonly idempotencyKey?: string | undefined;
}

const NO_VOLUME = "volume_not_found";
const ownPath = (key: string, rest = "") => `/boxyard/volumes/${encodeURIComponent(key)}${rest}`;

/**
 * A volume: a directory with a name and a size limit, which outlives sandboxes, and which any number of them can have at the same time. `files` works
 * without a sandbox.
 *
 * ```ts
 * const volume = await Volume.create("results");
 * await using sandbox = await Sandbox.create({ volumes: { "/data": volume } });
 * await sandbox.commands.run("date > /data/last-run");
 * console.log(await volume.files.read("/last-run"));
 * ```
 */
export class Volume {
  readonly volumeId: string;
  readonly name: string;
  /** Reads and changes its files, without a sandbox. */
  readonly files: VolumeFiles;
  private readonly api: ApiClient;

  private constructor(api: ApiClient, json: unknown) {
    const { volumeId, name } = volumeFromJson(json);
    this.volumeId = volumeId;
    this.name = name;
    this.api = api;
    this.files = new VolumeFiles(api, volumeId, String((json as { token?: unknown }).token));
  }

  /** Creates an empty volume. A name that your team has already is an `InvalidArgumentError`. */
  static create(name: string, opts: VolumeCreateOpts & VolumeKeyOptions = {}): Promise<Volume> {
    const { sizeMB, idempotencyKey } = opts;
    return Volume.make(new ApiClient(resolveConfig(opts)), { name, ...(sizeMB === undefined ? {} : { sizeMB }) }, { idempotencyKey });
  }

  /** Gets a volume by its id or name. Throws a `NotFoundError`. */
  static get(idOrName: string, opts: ConnectionOptions = {}): Promise<Volume> {
    const api = new ApiClient(resolveConfig(opts));
    return api.send({
      method: "GET",
      path: ownPath(idOrName),
      what: `get volume ${idOrName}`,
      notFoundReason: NO_VOLUME,
      read: async (response) => new Volume(api, await response.json()),
    });
  }

  /** Lists the volumes of your team, oldest first. */
  static list(opts: ConnectionOptions = {}): Promise<VolumeInfo[]> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: "/volumes",
      what: "list volumes",
      read: async (response) => ((await response.json()) as unknown[]).map(volumeFromJson),
    });
  }

  /** Deletes a volume with its files. False if there is none. A volume that a sandbox has, also a paused one, is a `ConflictError` with the sandboxes' ids. */
  static async remove(idOrName: string, opts: ConnectionOptions = {}): Promise<boolean> {
    try {
      return await (await Volume.get(idOrName, opts)).remove();
    } catch (error) {
      if (error instanceof NotFoundError) return false;
      throw error;
    }
  }

  /**
   * Creates a volume of a tar, which gzip or zstd may have compressed: the whole volume, or none. Device nodes, sockets and file capabilities are left out.
   * There is no time limit but `requestTimeoutMs`, if you set it.
   */
  static import(name: string, tar: FileData, opts: VolumeCreateOpts = {}): Promise<Volume> {
    const api = new ApiClient(resolveConfig(opts));
    const query = new URLSearchParams({ name, ...(opts.sizeMB === undefined ? {} : { sizeMB: String(opts.sizeMB) }) });
    return api.send({
      method: "POST",
      path: `/boxyard/volumes${withQuery(query)}`,
      what: `import volume ${name}`,
      bytes: tar,
      options: { requestTimeoutMs: opts.requestTimeoutMs ?? 0 },
      read: async (response) => new Volume(api, await response.json()),
    });
  }

  private static make(api: ApiClient, body: wire.NewVolume, options: RequestOptions & VolumeKeyOptions): Promise<Volume> {
    return api.send({
      method: "POST",
      path: "/volumes",
      what: `create volume ${body.name}`,
      notFoundReason: NO_VOLUME,
      headers: { "Idempotency-Key": options.idempotencyKey ?? randomKey() },
      repeatable: true,
      options,
      body,
      read: async (response) => new Volume(api, await response.json()),
    });
  }

  /** Its size and use at this moment. */
  info(options: RequestOptions = {}): Promise<VolumeInfo> {
    return this.own({ method: "GET", what: "look at", options });
  }

  /** Changes its size. Less than what is in use is refused; the message has the figure. */
  resize(sizeMB: number, options: RequestOptions = {}): Promise<VolumeInfo> {
    return this.own({ method: "PATCH", what: "resize", body: { sizeMB } satisfies wire.VolumeChange, repeatable: true, options });
  }

  /** Creates another volume, which begins with what this one holds now. Nothing is copied: both share what neither changes. */
  clone(name: string, options: RequestOptions & VolumeSizeOptions & VolumeKeyOptions = {}): Promise<Volume> {
    const { sizeMB } = options;
    return Volume.make(this.api, { name, from: this.name, ...(sizeMB === undefined ? {} : { sizeMB }) }, options);
  }

  /** All its files as a tar. Sandboxes may change them meanwhile; for the state of one moment, export a clone. */
  export(options: RequestOptions = {}): Promise<ReadableStream<Uint8Array>> {
    return this.api.send({
      method: "GET",
      path: ownPath(this.volumeId, "/archive"),
      what: `export volume ${this.name}`,
      notFoundReason: NO_VOLUME,
      options,
      read: async (response) => response.body ?? new Blob().stream(),
    });
  }

  /** Deletes the volume with its files; see the static `remove`. */
  remove(options: RequestOptions = {}): Promise<boolean> {
    return this.api.send({
      method: "DELETE",
      path: `/volumes/${encodeURIComponent(this.volumeId)}`,
      what: `remove volume ${this.name}`,
      options,
      accept: [404],
      // A repeated request may meet the success of the first.
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }

  private own(request: Pick<ApiRequest<unknown>, "method" | "what" | "body" | "repeatable" | "options">): Promise<VolumeInfo> {
    return this.api.send({
      ...request,
      path: ownPath(this.volumeId),
      what: `${request.what} volume ${this.name}`,
      notFoundReason: NO_VOLUME,
      read: async (response) => volumeFromJson(await response.json()),
    });
  }
}
