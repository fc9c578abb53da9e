import { existsSync, readdirSync, readFileSync } from "node:fs";
import { AppError, Semaphore } from "@boxyard/core";
import {
  DEFAULT_MAX_LAYER_BYTES,
  DEFAULT_MAX_LAYER_ENTRIES,
  type ImportLayerOptions,
  type LayerInfo,
  type LayerSource,
  type MakeLayerOptions,
} from "@boxyard/driver";
import { InodeSeeds, seedAboveLayers } from "../pool-storage/inode-seeds.ts";
import { checkMounted } from "../pool-storage/mounted.ts";
import { digestHex, poolPaths } from "../pool-storage/paths.ts";
import { changedPaths } from "./changed-paths.ts";
import { Making, unpublish } from "./making.ts";
import { FILES, type LayerFacts, type LayerJob } from "./worker/jobs.ts";
import { exportStream, runWorker, type WorkerOptions } from "./worker/spawn.ts";

/** How many layers are made at the same time; more would only compete for the disk. */
const MAX_MAKING = 4;

/** The facts that a commit needs of a volume. */
export interface DiskFacts {
  /** Path of the volume. */
  readonly volume: string;
  /** First id of the range of the volume's owners. */
  readonly uidBase: number;
  /** Paths in the sandbox that the layer does not get. */
  readonly leaveOut: readonly string[];
}

/** Runs `work` while nothing changes the volume; it may change again once `work` has settled. */
export type Still = <T>(work: (facts: DiskFacts) => Promise<T>) => Promise<T>;

/** What the file system may need besides a layer's bytes, for inodes, directories and extents. The bytes are counted while the layer is made. */
const FILE_SYSTEM_BYTES = 64 << 20;

type MakeJob<J = LayerJob> = J extends unknown ? Omit<J, "directory" | "maxBytes" | "maxEntries"> : never;

/** The layers of a pool, independent of sandboxes. Methods throw while the pool is not mounted (see `checkMounted`). */
export class LayerStore {
  private readonly dataDir: string;
  private readonly quotaOf: ((maxBytes: number) => Promise<number>) | undefined;
  private readonly gate = new Semaphore(MAX_MAKING);
  private readonly seeds: InodeSeeds;

  /** `quotaOf`: the limit for now of a layer that may have `maxBytes`; without it layers have no limit. */
  constructor(dataDir: string, quotaOf?: (maxBytes: number) => Promise<number>) {
    this.dataDir = dataDir;
    this.quotaOf = quotaOf;
    this.seeds = new InodeSeeds(dataDir);
  }

  has(digest: string): boolean {
    checkMounted(poolPaths(this.dataDir).layers);
    return existsSync(this.treeOf(digest));
  }

  get(digest: string): LayerInfo {
    if (!this.has(digest)) throw noLayer(digest);
    const { sizeBytes, createdAt } = this.factsOf(digest);
    return { digest, sizeBytes, createdAt };
  }

  list(): LayerInfo[] {
    const { layers } = poolPaths(this.dataDir);
    checkMounted(layers);
    const names = readdirSync(layers).filter((name) => /^[0-9a-f]{64}$/.test(name));
    return names.flatMap((hex) => {
      const digest = `sha256:${hex}`;
      const facts = this.readFacts(digest);
      return { digest, sizeBytes: facts?.sizeBytes ?? 0, createdAt: facts?.createdAt ?? 0 };
    });
  }

  async import(source: LayerSource, options: ImportLayerOptions): Promise<LayerInfo> {
    const { signal, expectedDigest, onProgress, onLeftOut } = options;
    signal.throwIfAborted();
    if (expectedDigest !== undefined && this.readFacts(expectedDigest) && this.has(expectedDigest)) {
      if (!("path" in source)) await source.cancel();
      return this.get(expectedDigest);
    }
    const seed = await this.seedOver(options.above ?? []);
    const job = { kind: "import", ...(expectedDigest !== undefined && { expectedDigest }), ...(seed !== undefined && { seed }) } as const;
    return this.make(job, options, { source, signal, ...(onProgress && { onProgress }), ...(onLeftOut && { onLeftOut }) });
  }

  /** The seed of a layer above these layers. */
  private async seedOver(above: readonly string[]): Promise<string | undefined> {
    const seed = seedAboveLayers(above.map((digest) => (this.has(digest) ? this.seeds.endOf(this.treeOf(digest)) : undefined)));
    return seed === 0 ? undefined : await this.seeds.get(seed);
  }

  /** Waits for its turn first, then for the volume: other work on the volume waits for one snapshot, never for other layers. */
  commit(still: Still, options: MakeLayerOptions): Promise<LayerInfo> {
    const { signal } = options;
    return this.gate.run(signal, async () => {
      const { made } = await still(async (facts) => {
        const copied = Promise.withResolvers<void>();
        const made = this.makeNow({ kind: "commit", ...facts }, options, { signal, onCopied: () => copied.resolve() });
        await Promise.race([copied.promise, made.catch(() => {})]);
        return { made };
      });
      return made;
    });
  }

  async merge(digests: readonly string[], options: MakeLayerOptions): Promise<LayerInfo> {
    options.signal.throwIfAborted();
    if (digests.length === 0) throw new AppError("invalid_argument", "There are no layers to merge", { reason: "no_layers" });
    for (const digest of digests) if (!this.has(digest)) throw noLayer(digest);
    return this.make({ kind: "merge", trees: digests.map((digest) => this.treeOf(digest)) }, options, { signal: options.signal });
  }

  export(digest: string, signal: AbortSignal): ReadableStream<Uint8Array> {
    signal.throwIfAborted();
    if (!this.has(digest)) throw noLayer(digest);
    this.factsOf(digest);
    return exportStream({ kind: "export", tree: this.treeOf(digest), facts: this.factsDirectory(digest) }, signal);
  }

  changedPaths(digest: string, paths: readonly string[]): string[] {
    if (!this.has(digest)) throw noLayer(digest);
    return changedPaths(this.treeOf(digest), paths);
  }

  /** Removes a layer, if it exists. Synchronous. */
  remove(digest: string): void {
    unpublish(this.dataDir, digest)?.();
  }

  private make(job: MakeJob, bounds: MakeLayerOptions, options: WorkerOptions): Promise<LayerInfo> {
    return this.gate.run(options.signal, () => this.makeNow(job, bounds, options));
  }

  private async makeNow(job: MakeJob, { maxBytes, maxEntries }: MakeLayerOptions, options: WorkerOptions): Promise<LayerInfo> {
    const making = await Making.begin(this.dataDir);
    try {
      const bounds = { maxBytes: maxBytes ?? DEFAULT_MAX_LAYER_BYTES, maxEntries: maxEntries ?? DEFAULT_MAX_LAYER_ENTRIES };
      const work = { ...job, directory: making.directory, ...bounds };
      // The worker sets the limit of its tree; then the driver's growth guard changes it.
      const quotaBytes = await this.quotaOf?.(bounds.maxBytes + FILE_SYSTEM_BYTES);
      const digest = await runWorker(quotaBytes === undefined ? work : { ...work, quotaBytes }, options);
      await making.publish(digest);
      return this.get(digest);
    } finally {
      making.end();
    }
  }

  private treeOf(digest: string): string {
    return `${poolPaths(this.dataDir).layers}/${digestHex(digest)}`;
  }

  private factsDirectory(digest: string): string {
    return `${poolPaths(this.dataDir).facts}/${digestHex(digest)}`;
  }

  private factsOf(digest: string): LayerFacts {
    const facts = this.readFacts(digest);
    if (facts) return facts;
    throw new AppError("failed_precondition", `Layer ${digest} was unpacked by an earlier version: run 'boxyard setup'`, {
      reason: "layer_without_facts",
    });
  }

  private readFacts(digest: string): LayerFacts | undefined {
    const path = `${this.factsDirectory(digest)}/${FILES.factsFile}`;
    return existsSync(path) ? (JSON.parse(readFileSync(path, "utf8")) as LayerFacts) : undefined;
  }
}

const noLayer = (digest: string) => new AppError("not_found", `There is no layer ${digest} on this machine`, { reason: "layer_not_found" });
