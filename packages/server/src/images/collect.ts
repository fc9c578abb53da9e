import { isAppError } from "@boxyard/core";
import type { ImageStore } from "@boxyard/driver";
import type { Pins } from "./pins.ts";

export interface CollectOptions {
  readonly images: ImageStore;
  readonly pins: Pins;
  /** Digests of every layer that a template, a build, a cache entry or a snapshot refers to; called once. */
  readonly referenced: () => Promise<ReadonlySet<string>>;
  readonly signal: AbortSignal;
}

export interface Collected {
  readonly removed: readonly string[];
  /** Sum of the sizes of the tars of the removed layers. */
  readonly removedBytes: number;
  /** Number of layers that only sandboxes use. They stay. */
  readonly inUse: number;
}

/**
 * Removes the layers that nothing refers to: mark, then sweep. A layer that gets a reference meanwhile must be pinned (see `Pins`). May be killed at
 * any time: the driver removes a layer as a whole, and at its next start what a killed removal has left.
 */
export async function collectLayers({ images, pins, referenced, signal }: CollectOptions): Promise<Collected> {
  // A layer that is pinned from now on stays, even if its first reference is made after the mark.
  using watch = pins.watch();
  // The list is made before the mark, so that later layers are no candidates.
  const layers = await images.listLayers();
  const candidates = new Set(layers.map(({ digest }) => digest));
  for (const digest of await referenced()) candidates.delete(digest);
  const removed: string[] = [];
  let removedBytes = 0;
  let inUse = 0;
  for (const { digest, sizeBytes, createdAt } of layers) {
    signal.throwIfAborted();
    if (!candidates.has(digest) || watch.pinned.has(digest) || createdAt >= watch.since) continue;
    try {
      await images.removeLayer(digest);
      removed.push(digest);
      removedBytes += sizeBytes;
    } catch (error) {
      if (!isAppError(error, "failed_precondition")) throw error;
      inUse++;
    }
  }
  return { removed, removedBytes, inUse };
}
