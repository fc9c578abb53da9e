import { existsSync, readdirSync } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import type { SandboxId } from "@boxyard/core";
import { checkMounted } from "../pool-storage/mounted.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { KEPT, makeImages, readMarker, removeKept, writeMarker } from "./marker.ts";

/** One bind mount of a sandbox that CRIU gets by name, because its source lies outside the sandbox. */
export interface ExternalMount {
  /** Where it is inside. */
  readonly target: string;
  /** Where it came from, as `sourceOf` of mounts.ts names it. */
  readonly source: string;
}

/** What is known of a generation beside its images; written last, so where it is, the generation is whole. */
export interface GenerationFile {
  readonly version: 1;
  readonly sandboxId: SandboxId;
  /** The incarnation that stood still. */
  readonly incarnation: number;
  readonly memory: boolean;
  /** See `Generation`; an earlier version did not say it. */
  readonly memoryBytes?: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** First id of the range that owners in images and, but for `diskUidBase`, on the disk are of. */
  readonly uidBase: number;
  readonly diskUidBase?: number;
  /** PID 1 of that incarnation, which has ended since. */
  readonly process: ProcessIdentity;
  /** Directory of the guest bundle whose programs are in memory. */
  readonly guest: string;
  readonly diskUsedBytes: number;
  readonly mounts: readonly ExternalMount[];
  /** The image holds names of deleted files that only the kept disk has: a resume with memory begins with that. */
  readonly needsKeptDisk: boolean;
  /** Cgroups below the sandbox's own that its root had frozen. */
  readonly frozenGroups: readonly string[];
}

const MARKER = "generation.json";

/** The generations of one sandbox, a directory each (see `KEPT`). */
export class Generations {
  private readonly root: string;
  private readonly directory: string;

  /** `root`: the pool's directory of generations, which is there as long as the pool is mounted. */
  constructor(root: string, sandboxId: SandboxId) {
    this.root = root;
    this.directory = join(root, sandboxId);
  }

  pathOf(incarnation: number): string {
    return join(this.directory, String(incarnation));
  }

  imagesOf(incarnation: number): string {
    return join(this.pathOf(incarnation), KEPT.images);
  }

  diskOf(incarnation: number): string {
    return join(this.pathOf(incarnation), KEPT.disk);
  }

  /** The newest whole one. Throws `unavailable`, reason `pool_not_mounted`, while nobody can know. */
  whole(): GenerationFile | undefined {
    checkMounted(this.root);
    return this.incarnations()
      .sort((a, b) => b - a)
      .map((incarnation) => readMarker<GenerationFile>(join(this.pathOf(incarnation), MARKER)))
      .find((file) => file !== undefined);
  }

  /** Makes the directory of a new one, empty; what an attempt that was cut off has left there goes. */
  async begin(incarnation: number): Promise<void> {
    checkMounted(this.root);
    await this.remove(incarnation);
    makeImages(this.imagesOf(incarnation));
  }

  /** Makes it whole: once this resolves, a crash of the machine does not lose it. */
  async complete(file: GenerationFile): Promise<void> {
    await writeMarker(this.pathOf(file.incarnation), MARKER, file);
    // What an earlier resume went on from.
    for (const incarnation of this.incarnations()) if (incarnation !== file.incarnation) await this.remove(incarnation);
  }

  /** Repeatable. The marker goes first, so that a part is never taken for a whole. */
  remove(incarnation: number): Promise<void> {
    return removeKept(this.pathOf(incarnation), MARKER);
  }

  /** All of them. Repeatable. Fails with EROFS while the pool takes no writes and something is left, and while it is not mounted. */
  async removeAll(): Promise<void> {
    checkMounted(this.root);
    if (!existsSync(this.directory)) return;
    for (const incarnation of this.incarnations()) await this.remove(incarnation);
    await rm(this.directory, { recursive: true, force: true });
  }

  private incarnations(): number[] {
    return existsSync(this.directory) ? readdirSync(this.directory).map(Number).filter(Number.isInteger) : [];
  }
}
