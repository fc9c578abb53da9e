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
  /** Its source, by the name that `externalMounts` gives it. */
  readonly source: string;
}

/** A lock that a process of a sandbox held when its memory was kept. */
export interface VolumeLock {
  readonly volume: string;
  /** Path of the file in the volume. */
  readonly path: string;
  readonly kind: "flock" | "posix";
  readonly exclusive: boolean;
  /** First byte, and the number of bytes; 0: to the end. */
  readonly start: number;
  readonly length: number;
}

/** What is known of a generation besides its images and disk. It is written last: where it exists, the generation is whole. */
export interface GenerationFile {
  readonly version: 1;
  readonly sandboxId: SandboxId;
  /** The incarnation that was paused. */
  readonly incarnation: number;
  readonly memory: boolean;
  /** See `Generation`; files of earlier versions lack it. */
  readonly memoryBytes?: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** First id of the range of owners in the images, and on the disk where there is no `diskUidBase`. */
  readonly uidBase: number;
  readonly diskUidBase?: number;
  /** PID 1 of that incarnation, which has ended since. */
  readonly process: ProcessIdentity;
  /** Of the record at that time (`LocalSandboxRecord`). */
  readonly bootId?: string;
  /** Directory of the guest bundle whose programs are in memory. */
  readonly guest: string;
  readonly diskUsedBytes: number;
  readonly mounts: readonly ExternalMount[];
  /** Locks of files of volumes that its processes held; absent: none. */
  readonly volumeLocks?: readonly VolumeLock[];
  /** True when the image names deleted files that only the kept disk has: a resume with memory must begin with that disk. */
  readonly needsKeptDisk: boolean;
  /** Cgroups below the sandbox's own that its root had frozen. */
  readonly frozenGroups: readonly string[];
}

const MARKER = "generation.json";

/** The generations of one sandbox, a directory each (see `KEPT`). */
export class Generations {
  private readonly root: string;
  private readonly directory: string;

  /** `root`: the pool's directory of generations, which exists as long as the pool is mounted. */
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

  /**
   * The newest whole generation, or undefined. Throws `data_loss`, reason `bad_generation`, when its marker is damaged, and `unavailable`, reason
   * `pool_not_mounted`, while the pool is not mounted.
   */
  whole(): GenerationFile | undefined {
    checkMounted(this.root);
    for (const incarnation of this.incarnations().sort((a, b) => b - a)) {
      const file = readMarker<GenerationFile>(join(this.pathOf(incarnation), MARKER), "bad_generation");
      if (file) return file;
    }
    return undefined;
  }

  /** Makes the empty directory of a new generation; removes what an attempt that was cut off has left there. */
  async begin(incarnation: number): Promise<void> {
    checkMounted(this.root);
    await this.remove(incarnation);
    makeImages(this.imagesOf(incarnation));
  }

  /** Makes a generation whole and removes all others. Once this resolves, a crash of the machine does not lose it. */
  async complete(file: GenerationFile): Promise<void> {
    await writeMarker(this.pathOf(file.incarnation), MARKER, file);
    // The others are generations of earlier pauses.
    for (const incarnation of this.incarnations()) if (incarnation !== file.incarnation) await this.remove(incarnation);
  }

  /** Removes one generation. Repeatable. The marker is removed first, so that a partial generation is never taken for a whole one. */
  remove(incarnation: number): Promise<void> {
    return removeKept(this.pathOf(incarnation), MARKER);
  }

  /** Removes all generations. Repeatable. Fails with EROFS while the pool takes no writes and any is left; throws while the pool is not mounted. */
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
