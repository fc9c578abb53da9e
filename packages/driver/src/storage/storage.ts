import type { LayerStorage } from "./layers.ts";
import type { SnapshotStore } from "./snapshots.ts";
import type { VolumeStore } from "./volumes.ts";

export interface StorageCapabilities {
  /** The driver keeps, makes and exports layers (`StorageDriver.images`, `ImageDriver.images`). */
  readonly images: boolean;
  /** Running sandboxes can be captured, and others started from that (`StorageDriver.snapshots`); with memory if `checkpoint` says so. */
  readonly snapshots: boolean;
  /** Sandboxes can have volumes (`StorageDriver.volumes`, `SandboxSpec.volumes`). */
  readonly volumes: boolean;
}

/**
 * The part of a driver that keeps layers, snapshots and volumes on disk: everything on disk is listed, and everything listed can be removed.
 *
 * **Words.** A *layer* is a changeset of the OCI image format; it is named by the SHA-256 of its uncompressed tar, `sha256:<64 hex>`, which
 * OCI calls its diff id. Layers are shared. A *disk* has the changes of one sandbox.
 *
 * **Life.** The part images makes a layer; it stays, unchanged, until `removeLayer`. `create` makes a disk and `destroy` removes it, with the
 * generation of `CheckpointDriver`. Both are parts of a sandbox, which `RuntimeDriver.list` includes.
 *
 * **Guarantees.**
 * - A layer that `hasLayer` knows is whole and never changes. A restart of the server or of the machine loses none.
 * - `removeLayer` refuses while a sandbox uses the layer (`failed_precondition`, reason `layer_in_use`, `details.sandboxes`) or a
 *   snapshot (`details.snapshots`); a damaged one may use any. Afterwards the layer is not found; a missing layer is no error. Of a concurrent `create`
 *   and `removeLayer` one fails.
 *
 * **Example.**
 * ```ts
 * for (const { digest } of await driver.images.listLayers()) {
 *   if (!needed.has(digest)) await driver.images.removeLayer(digest);
 * }
 * ```
 */
export interface StorageDriver {
  readonly capabilities: StorageCapabilities;
  /** Needs the capability `images`. */
  readonly images: LayerStorage;
  /** Copies of running sandboxes that others start from; `SnapshotStore` has their contract. Needs the capability `snapshots`. */
  readonly snapshots: SnapshotStore;
  /** Directories that outlive sandboxes; `VolumeStore` has their contract. Needs the capability `volumes`. */
  readonly volumes: VolumeStore;
}
