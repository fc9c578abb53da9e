import { AppError } from "@boxyard/core";
import type {
  CommitOptions,
  ImageStore,
  ImportLayerOptions,
  LayerCapabilities,
  LayerInfo,
  LayerSource,
  MakeLayerOptions,
  SandboxHandle,
} from "@boxyard/driver";
import { GUEST_DIRECTORY } from "../rootfs/mounts.ts";
import { OWN_FILES } from "../rootfs/upper.ts";
import type { DiskFacts, LayerStore } from "./layer-store.ts";

/** mount(2) accepts 4,095 bytes of options, of which each layer needs about a hundred; and each name is looked up in every layer. */
export const MAX_LAYERS = 20;

/** A worker's whole task must fit into one argument of a program (128 KiB). */
const MAX_LEAVE_OUT_BYTES = 64 * 1024;

/** What `LocalImages` needs to know about sandboxes. */
export interface SandboxSource {
  /** Runs `work` while nothing else changes the sandbox. Throws when there is no such sandbox, or when it runs unfrozen. */
  still<T>(handle: SandboxHandle, work: (facts: Pick<DiskFacts, "volume" | "uidBase">) => Promise<T>): Promise<T>;
  /** Ids of the sandboxes that use a layer, unfinished ones too. Synchronous, so that nothing happens between the answer and the removal. */
  usersOf(digest: string): readonly string[];
  /** Ids of the snapshots that use a layer. Synchronous, as above. */
  snapshotsOn(digest: string): readonly string[];
}

/** The driver's image store: the layers of the pool, of which none is removed while sandboxes or snapshots use it. */
export class LocalImages implements ImageStore {
  readonly capabilities: LayerCapabilities = { maxLayers: MAX_LAYERS, localFiles: true };
  private readonly store: LayerStore;
  private readonly sandboxes: SandboxSource;

  constructor(store: LayerStore, sandboxes: SandboxSource) {
    this.store = store;
    this.sandboxes = sandboxes;
  }

  async hasLayer(digest: string): Promise<boolean> {
    return this.store.has(digest);
  }

  async getLayer(digest: string): Promise<LayerInfo> {
    return this.store.get(digest);
  }

  async listLayers(): Promise<readonly LayerInfo[]> {
    return this.store.list();
  }

  importLayer(source: LayerSource, options: ImportLayerOptions): Promise<LayerInfo> {
    return this.store.import(source, options);
  }

  async commit(handle: SandboxHandle, options: CommitOptions): Promise<LayerInfo> {
    options.signal.throwIfAborted();
    if (Buffer.byteLength(JSON.stringify(options.leaveOut ?? [])) > MAX_LEAVE_OUT_BYTES) {
      throw new AppError("invalid_argument", "Too many paths to leave out of a layer; name their directory", { reason: "too_many_paths" });
    }
    const leaveOut = [...OWN_FILES, GUEST_DIRECTORY, ...(options.leaveOut ?? [])];
    return this.store.commit((work) => this.sandboxes.still(handle, (facts) => work({ ...facts, leaveOut })), options);
  }

  mergeLayers(digests: readonly string[], options: MakeLayerOptions): Promise<LayerInfo> {
    return this.store.merge(digests, options);
  }

  async exportLayer(digest: string, options: { readonly signal: AbortSignal }): Promise<ReadableStream<Uint8Array>> {
    return this.store.export(digest, options.signal);
  }

  async changedPaths(digest: string, paths: readonly string[]): Promise<readonly string[]> {
    return this.store.changedPaths(digest, paths);
  }

  async removeLayer(digest: string): Promise<void> {
    const sandboxes = this.sandboxes.usersOf(digest);
    if (sandboxes.length > 0) {
      throw new AppError("failed_precondition", `${sandboxes.length} sandboxes use layer ${digest}; end them first`, {
        reason: "layer_in_use",
        details: { sandboxes },
      });
    }
    const snapshots = this.sandboxes.snapshotsOn(digest);
    if (snapshots.length > 0) {
      throw new AppError("failed_precondition", `${snapshots.length} snapshots use layer ${digest}; remove them first`, {
        reason: "layer_in_use",
        details: { snapshots },
      });
    }
    this.store.remove(digest);
  }
}
