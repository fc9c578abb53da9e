import { AppError } from "@boxyard/core";
import type { SandboxHandle } from "../handle.ts";
import type { LayerInfo, LayerStorage, MakeLayerOptions } from "../storage/layers.ts";

/**
 * The part of a driver that makes layers, from tars and from the changes of sandboxes, and exports their tars.
 *
 * **Words.** Those of `StorageDriver`. An *image* is a list of layers, lowest first (`ImageRef.layers`). The driver knows layers only:
 * manifests, configurations, names and registries are the server's.
 *
 * **Life.** `importLayer` of the layers of a base → a sandbox on them → `freeze` → `commit` → a sandbox on one layer more; `exportLayer` for
 * a registry. `mergeLayers` when they become too many.
 *
 * **Guarantees.**
 * - A call that fails, aborts or is killed leaves no layer, and nothing that a later call or a restart does not remove.
 * - Making a layer that exists already returns that one. Any number of calls may run at once.
 * - Layers' tars are hostile input: nothing is written outside the new layer, and not more than the bounds.
 *   Refused with `invalid_argument`, reason `bad_layer`: `..` in a path, links to what the layer does not hold, tars that are
 *   cut off or malformed. Leading `/` and `./` mean the root, as everywhere. `resource_exhausted`, reason `layer_too_large`: beyond the bounds.
 * - Device nodes of a tar are left out of the layer and reported (`onLeftOut`): sandboxes have their own. (`exportLayer` gives them back anyway.)
 * - Owners (plain, not those of any sandbox), modes, modification times in seconds, hard links, symbolic links, FIFOs, whiteouts, opaque
 *   directories, and the extended attributes `security.capability`, `user.*` and POSIX ACLs are kept. Other extended attributes
 *   are left out.
 * - `exportLayer` gives exactly the bytes whose digest is the layer's name, also for an imported layer.
 * - `commit` takes what a sandbox has changed since its start, as a layer to put on top of the layers it was made from. The sandbox must be
 *   frozen, stopped or never started (`failed_precondition`, reason `sandbox_running`) and stays as it is: it may be thawed, go on, and be
 *   committed again. Each commit holds everything since the start, so of several commits of one sandbox only the newest goes into an image.
 *   Files of the driver itself (the agent's directory, hosts, hostname, resolv.conf) are left out.
 *
 * **Example.**
 * ```ts
 * const { digest } = await driver.images.importLayer(tarStream, { expectedDigest: diffId, signal });
 * const handle = await driver.create({ ...spec, image: { digest: imageDigest, layers: [digest] } }, signal);
 * await driver.start(handle, signal);                    // … run the step of a build …
 * await driver.freeze(handle);
 * const step = await driver.images.commit(handle, { signal });
 * await driver.destroy(handle);
 * const next = { digest: nextImageDigest, layers: [digest, step.digest] };
 * ```
 */
export interface ImageDriver {
  readonly capabilities: ImageCapabilities;
  /** Needs the capability `images`. */
  readonly images: LayerMaker;
}

export interface ImageCapabilities extends LayerCapabilities {
  /** The driver keeps, makes and exports layers. */
  readonly images: boolean;
}

export interface LayerCapabilities {
  /**
   * Largest number of layers of a sandbox, 0 without `images`; `create` refuses more with `invalid_argument`, reason `too_many_layers`. `mergeLayers` makes
   * one layer from several.
   */
  readonly maxLayers: number;
  /**
   * The driver opens files of the machine that the server runs on. Without it a source that is a path is `unimplemented`, reason `no_local_files`, and the
   * server sends a stream.
   */
  readonly localFiles: boolean;
}

/** Makes and exports layers. */
export interface LayerMaker {
  /** The `SandboxDriver.capabilities` for layers, for code that uses only this part. */
  readonly capabilities: LayerCapabilities;

  /**
   * Unpacks a layer's tar: plain, gzip or zstd, told apart by its first bytes. With `expectedDigest` a layer that is there is given back
   * without reading the source (a stream is cancelled).
   */
  importLayer(source: LayerSource, options: ImportLayerOptions): Promise<LayerInfo>;
  /** Makes a layer of a sandbox's changes. Throws `not_found` for an unknown sandbox. */
  commit(handle: SandboxHandle, options: CommitOptions): Promise<LayerInfo>;
  /** One layer that can replace these, which are consecutive in their image, lowest first: same files, fewer layers. Copies no data. */
  mergeLayers(digests: readonly string[], options: MakeLayerOptions): Promise<LayerInfo>;

  /** The layer's uncompressed tar. Cancelling the stream ends the work. Throws `not_found`, reason `layer_not_found`, when there is none. */
  exportLayer(digest: string, options: { readonly signal: AbortSignal }): Promise<ReadableStream<Uint8Array>>;

  /**
   * Those of `paths` (absolute) that the layer may change in an image: it holds or removes something there, or something on the way that is no plain
   * directory. A path that is not among them is in an image the same with the layer as without it. Throws as `exportLayer`.
   */
  changedPaths(digest: string, paths: readonly string[]): Promise<readonly string[]>;
}

/** Layers, kept and made: what `SandboxDriver.images` is. */
export type ImageStore = LayerStorage & LayerMaker;

/** A stream, or a file of the server's machine that the driver may open (needs the capability `localFiles`). */
export type LayerSource = ReadableStream<Uint8Array> | { readonly path: string };

export interface ImportLayerOptions extends MakeLayerOptions {
  /** What the uncompressed tar must hash to; another one is `data_loss`, reason `bad_digest`. */
  readonly expectedDigest?: string;
  /**
   * Digests of the layers below it, lowest first, also of those that do not exist yet. Its files get inode numbers that differ from theirs; a program
   * in a sandbox would take files with the same number for one file.
   */
  readonly above?: readonly string[];
  /** Called from time to time with the bytes of the source, as sent, that were read so far. */
  readonly onProgress?: (bytesRead: number) => void;
  /** Called with the device nodes that the layer does not have: how many, and the paths of some. */
  readonly onLeftOut?: (leftOut: { readonly count: number; readonly examples: readonly string[] }) => void;
}

export interface CommitOptions extends MakeLayerOptions {
  /**
   * Absolute paths inside the sandbox, files or directories, whose changes are left out of the layer, so that the image's own content stays visible. A
   * directory with nothing else in it is left out too. Names, no patterns; symbolic links in them are not followed.
   */
  readonly leaveOut?: readonly string[];
}

/** 64 GiB. */
export const DEFAULT_MAX_LAYER_BYTES = 64 * 1024 ** 3;
export const DEFAULT_MAX_LAYER_ENTRIES = 4_000_000;

export const imagesUnimplemented = (driver: string) =>
  new AppError("unimplemented", `The ${driver} driver keeps no layers of its own`, { reason: "images_unimplemented" });

/** The store of drivers without the capability `images`: every call rejects with `unimplemented`. */
export function absentImages(driver: string): ImageStore {
  const absent = () => Promise.reject(imagesUnimplemented(driver));
  return {
    capabilities: { maxLayers: 0, localFiles: false },
    hasLayer: absent,
    getLayer: absent,
    listLayers: absent,
    importLayer: absent,
    commit: absent,
    mergeLayers: absent,
    exportLayer: absent,
    changedPaths: absent,
    removeLayer: absent,
  };
}
