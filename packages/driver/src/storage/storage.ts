import type { SnapshotStore } from "../snapshots.ts";
import type { LayerStorage } from "./layers.ts";

export interface StorageCapabilities {
  /** The driver keeps layers, and makes and gives them out (`StorageDriver.images`, `ImageDriver.images`). */
  readonly images: boolean;
  /** Running sandboxes can be captured, and others started from that (`StorageDriver.snapshots`); with memory if `checkpoint` says so. */
  readonly snapshots: boolean;
}

/**
 * The part of a driver that keeps what lies on disk: what is there can be listed, and what is listed can be removed.
 *
 * **Words.** A *layer* is a changeset of the OCI image format; it is named by the SHA-256 of its uncompressed tar, `sha256:<64 hex>`, which
 * OCI calls its diff id. Layers are shared. A *volume* is the disk of one sandbox, on which lies what the sandbox has changed.
 *
 * **Life.** The part images makes a layer; it stays, unchanged, until `removeLayer`. A volume comes with `create` and goes with `destroy`,
 * and so does a generation (`CheckpointDriver`): both are named by `RuntimeDriver.list`, because they are parts of a sandbox.
 *
 * **Guarantees.**
 * - A layer that `hasLayer` knows is whole and never changes. A restart of the server or of the machine loses none.
 * - `removeLayer` refuses while a sandbox stands on the layer (`failed_precondition`, reason `layer_in_use`, `details.sandboxes`) or a
 *   snapshot (`details.snapshots`). From then on the layer is not found; succeeds when there is none. `create` and `removeLayer` at once: one of the two fails.
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
  /** Copies of running sandboxes that others start from; `snapshots.ts` has their contract. Needs the capability `snapshots`. */
  readonly snapshots: SnapshotStore;
}
