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
  /** Layers that nobody may remove meanwhile. */
  readonly pins: Pins;
  /** Layers that sandboxes need, whatever templates say. */
  readonly layersOfSandboxes: () => Iterable<string>;
  /** Of layers that only results of steps refer to. */
  readonly maxCacheBytes: number;
}

/** Which layers are needed, and the end of the others. */
export class BuildLayers {
  private readonly deps: BuildLayersDeps;

  constructor(deps: BuildLayersDeps) {
    this.deps = deps;
  }

  /** Removes layers that no template, cached step or sandbox needs; work in progress has pinned its own. */
  async collect(signal: AbortSignal): Promise<Collected> {
    const { driver, pins, store, templates, maxCacheBytes } = this.deps;
    const sizes = new Map((await driver.images.listLayers()).map(({ digest, sizeBytes }) => [digest, sizeBytes]));
    const excess = beyondBound(await store.templates.listCached(), await this.inUse(), sizes, maxCacheBytes);
    await store.templates.removeCached(excess);
    // Builds without a tag may be among what is forgotten: from here on nobody starts from them.
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

/** Of a step's result, or of a build that no tag points to. */
const layersOf = ({ result }: CachedResult): readonly string[] => (JSON.parse(result) as Pick<BuildState, "image">).image.layers;

/**
 * Keys of the results that are too much, those that were used longest ago: what layers of all newer ones, beside those in use, take together
 * is beyond the bound. `cached`: newest use first.
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
