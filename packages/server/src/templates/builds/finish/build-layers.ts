import type { SandboxDriver } from "@boxyard/driver";
import { type Collected, collectLayers } from "../../../images/collect.ts";
import type { Pins } from "../../../images/pins.ts";
import type { CachedResult, Store } from "../../../store/index.ts";
import type { Templates } from "../../templates.ts";
import type { BuildState } from "../stage/state.ts";

export interface BuildLayersDeps {
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly templates: Templates;
  /** Layers that work in progress uses: they are not removed. */
  readonly pins: Pins;
  /** Layers of all sandboxes. */
  readonly layersOfSandboxes: () => Iterable<string>;
  /** Most bytes of layers that only results of steps refer to. */
  readonly maxCacheBytes: number;
}

/** Removes layers that are not needed. */
export class BuildLayers {
  private readonly deps: BuildLayersDeps;

  constructor(deps: BuildLayersDeps) {
    this.deps = deps;
  }

  /** Removes layers that no template, cached step or sandbox needs, and that no work in progress has pinned. */
  async collect(signal: AbortSignal): Promise<Collected> {
    const { driver, pins, store, templates, maxCacheBytes } = this.deps;
    const sizes = new Map((await driver.images.listLayers()).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
    const excess = beyondBound(await store.templates.listCached(), await this.inUse(), sizes, maxCacheBytes);
    await store.templates.removeCached(excess);
    // The removed results may include builds without a tag: from here on no create finds them.
    await templates.load();
    return collectLayers({ images: driver.images, pins, referenced: () => this.needed(), signal });
  }

  private async needed(): Promise<Set<string>> {
    const cached = await this.deps.store.templates.listCached();
    return new Set([...cached.flatMap(layersOf), ...(await this.inUse())]);
  }

  private async inUse(): Promise<Set<string>> {
    const { store, templates, layersOfSandboxes } = this.deps;
    const specs = await store.templates.listSpecs();
    return new Set([...specs.flatMap(({ image }) => image.layers), ...layersOfSandboxes(), ...templates.shippedLayers]);
  }
}

/** The layers of a step's result, or of a build that no tag points to. */
const layersOf = ({ result }: CachedResult): readonly string[] => (JSON.parse(result) as Pick<BuildState, "image">).image.layers;

/**
 * Keys of the results to remove: those whose layers, together with the layers of all results with a later use, take more than `maxBytes`. Layers in
 * use do not count. `cached`: newest use first.
 */
export function beyondBound(
  cached: readonly CachedResult[],
  inUse: ReadonlySet<string>,
  sizes: ReadonlyMap<string, number>,
  maxBytes: number,
): string[] {
  const counted = new Set(inUse);
  let left = maxBytes;
  const excess: string[] = [];
  for (const entry of cached) {
    for (const layer of layersOf(entry)) {
      if (counted.has(layer)) continue;
      counted.add(layer);
      left -= sizes.get(layer) ?? 0;
    }
    if (left < 0) excess.push(entry.key);
  }
  return excess;
}
