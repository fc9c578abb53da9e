import type * as wire from "@boxyard/spec/platform-types";
import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import { unchecked } from "../connection/unchecked.ts";
import type { FileData } from "../files/file-types.ts";

/** A recording of exchanges by HTTP. */
export interface RecordingInfo {
  readonly name: string;
  readonly createdAt: Date;
  /** When something was kept last. */
  readonly changedAt: Date;
  readonly sizeBytes: number;
  /** Why something is missing: `size` or `count`, a limit was reached; `disk`, it could not be written, or the rest of the disk is for others; `protocol`, a WebSocket or HTTP/2 passed, which is not kept. */
  readonly incomplete?: string | undefined;
  /** When a rule of the team deletes it. */
  readonly deleteAt?: Date | undefined;
}

/** One request of a sandbox, with the status of its answer. */
export interface RecordedExchange {
  readonly timestamp: Date;
  readonly method: string;
  readonly url: string;
  readonly status: number;
  /** Of the answer's body, as it was sent. */
  readonly sizeBytes: number;
  readonly durationMs: number;
}

export interface RecordingDetail extends RecordingInfo {
  readonly count: number;
  /** The newest, oldest first. */
  readonly exchanges: readonly RecordedExchange[];
}

export interface ImportedRecording extends RecordingInfo {
  readonly count: number;
  /** Entries of the archive that are no exchanges by HTTP with an answer. */
  readonly skipped: number;
}

export interface RecordingGetOptions extends ConnectionOptions {
  /** Exchanges to get, the newest: 0 to 1000. Default 100. */
  readonly limit?: number | undefined;
}

const NO_RECORDING = "recording_not_found";
const OWN_PATH = "/boxyard/recordings";
const pathOf = (name: string, rest = "") => `${OWN_PATH}/${encodeURIComponent(name)}${rest}`;

/**
 * The recordings of your team: what sandboxes with `network: { record: NAME }` asked for by HTTP and got, from which `network: { replay: NAME }` answers.
 *
 * ```ts
 * await using sandbox = await Sandbox.create({ network: { record: "install" } });
 * await sandbox.commands.run("pip install requests");
 * const { exchanges } = await Recordings.get("install");
 * ```
 */
export class Recordings {
  private constructor() {}

  /** Lists all recordings, oldest first. */
  static list(opts: ConnectionOptions = {}): Promise<RecordingInfo[]> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: OWN_PATH,
      what: "list recordings",
      read: async (response) => ((await response.json()) as unknown[]).map(infoFromJson),
    });
  }

  /** Gets a recording with its newest exchanges. Throws a `NotFoundError`. */
  static get(name: string, opts: RecordingGetOptions = {}): Promise<RecordingDetail> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: pathOf(name, opts.limit === undefined ? "" : `?limit=${opts.limit}`),
      what: `get recording ${name}`,
      notFoundReason: NO_RECORDING,
      read: async (response) => {
        const json = await response.json();
        const { count, exchanges } = unchecked<wire.RecordingDetail>(json);
        const all = (exchanges ?? []) as readonly wire.RecordedExchange[];
        const read = all.map((exchange) => ({ ...exchange, timestamp: new Date(exchange.timestamp) }));
        return { ...infoFromJson(json), count: Number(count), exchanges: read };
      },
    });
  }

  /** A recording as an archive of exchanges (HAR 1.2), a JSON text, as a stream. Throws a `NotFoundError`. */
  static export(
    name: string,
    opts: ConnectionOptions & { readonly signal?: AbortSignal | undefined } = {},
  ): Promise<ReadableStream<Uint8Array>> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "GET",
      path: pathOf(name, "/har"),
      what: `export recording ${name}`,
      notFoundReason: NO_RECORDING,
      options: opts,
      read: async (response) => response.body ?? new Blob().stream(),
    });
  }

  /**
   * Makes a recording of an archive of exchanges (HAR), of a browser for example: the whole recording, or none. A name that your team has already is a
   * `ConflictError`. There is no time limit but `requestTimeoutMs`, if you set it.
   */
  static import(name: string, har: FileData, opts: ConnectionOptions = {}): Promise<ImportedRecording> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "POST",
      path: `${OWN_PATH}?${new URLSearchParams({ name })}`,
      what: `import recording ${name}`,
      bytes: har,
      options: { requestTimeoutMs: opts.requestTimeoutMs ?? 0 },
      read: async (response) => {
        const json = await response.json();
        const { count, skipped } = unchecked<wire.ImportedRecording>(json);
        return { ...infoFromJson(json), count: Number(count), skipped: Number(skipped) };
      },
    });
  }

  /** Deletes a recording. False if there is none. One that a sandbox uses, also a paused one, is a `ConflictError` with the sandboxes' ids. */
  static delete(name: string, opts: ConnectionOptions = {}): Promise<boolean> {
    return new ApiClient(resolveConfig(opts)).send({
      method: "DELETE",
      path: pathOf(name),
      what: `delete recording ${name}`,
      accept: [404],
      read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
    });
  }
}

function infoFromJson(value: unknown): RecordingInfo {
  const json = unchecked<wire.Recording>(value);
  return {
    name: String(json.name),
    createdAt: new Date(String(json.createdAt)),
    changedAt: new Date(String(json.changedAt)),
    sizeBytes: Number(json.sizeBytes),
    ...(json.incomplete !== undefined && { incomplete: String(json.incomplete) }),
    ...(json.deleteAt !== undefined && { deleteAt: new Date(String(json.deleteAt)) }),
  };
}
