import type { ApiClient, ApiRequest } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { NotFoundError } from "../errors.ts";
import type { FileData } from "../files/file-types.ts";
import { type VolumeAttributes, type VolumeEntry, volumeEntryFromJson } from "./volume-types.ts";

/** Reads have no time limit but `requestTimeoutMs`, if it is set. */
export interface VolumeReadOpts extends RequestOptions {
  /** Default `text`. Cancel a `stream` that you do not read to its end. */
  readonly format?: "text" | "bytes" | "stream" | undefined;
}

export interface VolumeWriteOpts extends RequestOptions, VolumeAttributes {
  /** False: a file that exists is not replaced, and the call throws a `ConflictError`. Default true. */
  readonly overwrite?: boolean | undefined;
}

export interface VolumeListOpts extends RequestOptions {
  /** How many levels, 1 to 256. Default 1: the entries of the directory itself. */
  readonly depth?: number | undefined;
}

export interface VolumeMakeDirOpts extends RequestOptions, VolumeAttributes {}

type Query = Readonly<Record<string, string | number | undefined>>;
type Part = "path" | "dir" | "file";

const NO_FILE = "path_not_found";

/**
 * The files of a volume. Paths begin at the volume's root; a leading `/` is optional. Without attributes, what is made belongs to root and everybody may read
 * it.
 */
export class VolumeFiles {
  private readonly api: ApiClient;
  private readonly volumeId: string;
  private readonly token: string;

  /** @internal */
  constructor(api: ApiClient, volumeId: string, token: string) {
    this.api = api;
    this.volumeId = volumeId;
    this.token = token;
  }

  /** Reads a file. */
  read(path: string, opts?: VolumeReadOpts & { readonly format?: "text" | undefined }): Promise<string>;
  read(path: string, opts: VolumeReadOpts & { readonly format: "bytes" }): Promise<Uint8Array>;
  read(path: string, opts: VolumeReadOpts & { readonly format: "stream" }): Promise<ReadableStream<Uint8Array>>;
  read(path: string, opts: VolumeReadOpts = {}): Promise<string | Uint8Array | ReadableStream<Uint8Array>> {
    const read = async (response: Response) => {
      if (opts.format === "stream") return response.body ?? new Blob().stream();
      return opts.format === "bytes" ? new Uint8Array(await response.arrayBuffer()) : response.text();
    };
    return this.send("GET", "file", { path }, { what: `read ${path}`, options: unlimited(opts), read });
  }

  /** Writes a file, as a whole or not at all. Its directory must exist. */
  write(path: string, data: FileData, opts: VolumeWriteOpts = {}): Promise<VolumeEntry> {
    const { uid, gid, mode, overwrite = true } = opts;
    const query = { path, uid, gid, mode, ...(overwrite ? { force: "true" } : {}) };
    return this.send("PUT", "file", query, { what: `write ${path}`, bytes: data, options: unlimited(opts), read: entryOf });
  }

  /** Lists a directory, sorted by path; at most 20,000 entries. */
  list(path: string, opts: VolumeListOpts = {}): Promise<VolumeEntry[]> {
    const read = async (response: Response) => ((await response.json()) as unknown[]).map(volumeEntryFromJson);
    return this.send("GET", "dir", { path, depth: opts.depth }, { what: `list ${path}`, options: opts, read });
  }

  /** Describes what is at a path; a link is not followed. Throws a `NotFoundError`. */
  getInfo(path: string, options: RequestOptions = {}): Promise<VolumeEntry> {
    return this.send("GET", "path", { path }, { what: `look at ${path}`, options, read: entryOf });
  }

  /** True if the path exists. */
  async exists(path: string, options: RequestOptions = {}): Promise<boolean> {
    try {
      await this.getInfo(path, options);
      return true;
    } catch (error) {
      if (error instanceof NotFoundError && error.reason === NO_FILE) return false;
      throw error;
    }
  }

  /** Makes a directory and its missing parents. One that exists stays as it is. */
  makeDir(path: string, opts: VolumeMakeDirOpts = {}): Promise<VolumeEntry> {
    const { uid, gid, mode } = opts;
    const query = { path, uid, gid, mode, force: "true" };
    return this.send("POST", "dir", query, { what: `make directory ${path}`, repeatable: true, options: opts, read: entryOf });
  }

  /** Gives a file or directory another path, whose directory must exist. Something there is a `ConflictError`. */
  rename(source: string, destination: string, options: RequestOptions = {}): Promise<VolumeEntry> {
    return this.send("POST", "path", { path: source, to: destination }, { what: `rename ${source}`, options, read: entryOf });
  }

  /** Removes a file, or a directory with all in it. Throws a `NotFoundError`. */
  remove(path: string, options: RequestOptions = {}): Promise<void> {
    return this.send("DELETE", "path", { path }, { what: `remove ${path}`, options, read: async () => undefined });
  }

  /** Sets owner and mode. */
  setAttributes(path: string, attributes: VolumeAttributes, options: RequestOptions = {}): Promise<VolumeEntry> {
    const { uid, gid, mode } = attributes;
    const what = `set attributes of ${path}`;
    return this.send("PATCH", "path", { path }, { what, body: { uid, gid, mode }, repeatable: true, options, read: entryOf });
  }

  private send<T>(
    method: ApiRequest<T>["method"],
    part: Part,
    query: Query,
    request: Pick<ApiRequest<T>, "what" | "body" | "bytes" | "repeatable" | "options" | "read">,
  ): Promise<T> {
    const given = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
    return this.api.send({
      ...request,
      method,
      path: `/volumecontent/${encodeURIComponent(this.volumeId)}/${part}?${new URLSearchParams(given)}`,
      notFoundReason: NO_FILE,
      headers: { Authorization: `Bearer ${this.token}` },
    });
  }
}

const entryOf = async (response: Response): Promise<VolumeEntry> => volumeEntryFromJson(await response.json());

/** A transfer takes as long as it takes. */
const unlimited = ({ requestTimeoutMs = 0, signal }: RequestOptions): RequestOptions => ({ requestTimeoutMs, signal });
