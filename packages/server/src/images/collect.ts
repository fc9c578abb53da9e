import { isAppError } from "@boxyard/core";
import type { ImageStore } from "@boxyard/driver";
import type { Pins } from "./pins.ts";

export interface CollectOptions {
  readonly images: ImageStore;
  readonly pins: Pins;
  /** Digests of every layer that a template, a build, a cache entry or a snapshot refers to, asked for once. */
  readonly referenced: () => Promise<ReadonlySet<string>>;
  readonly signal: AbortSignal;
}

export interface Collected {
  readonly removed: readonly string[];
  /** Sum of their tars' sizes. */
  readonly removedBytes: number;
  /** Layers that sandboxes stand on though nothing else refers to them. */
  readonly inUse: number;
}

/**
 * Removes the layers that nothing refers to: mark, then sweep. A layer to which a reference is added meanwhile must be pinned (see `Pins`). Safe to
 * cut off anywhere: a layer goes as a whole, and what a killed removal leaves goes when the driver is next opened.
 */
export async function collectLayers({ images, pins, referenced, signal }: CollectOptions): Promise<Collected> {
  // A layer that is pinned from now on is kept, even if everything that refers to it came after the marking.
  using watch = pins.watch();
  // Listed before marked: what is made after this is no candidate.
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
