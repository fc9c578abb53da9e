import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, type SandboxId } from "@boxyard/core";
import { type SnapshotInfo, snapshotNotFound } from "@boxyard/driver";
import type { GenerationFile } from "../checkpoint/generation.ts";
import { KEPT, makeImages, readMarker, removeKept, writeMarker } from "../checkpoint/marker.ts";
import { checkMounted } from "../pool-storage/mounted.ts";

/** What is known of a snapshot beside its disk and its images; written last, so where it is, the snapshot is whole. */
export interface SnapshotFile extends SnapshotInfo, Pick<GenerationFile, "guest" | "mounts" | "frozenGroups"> {
  readonly version: 1;
  /** First id of the range that processes in the images are of. */
  readonly uidBase: number;
  /** First id of the range that owners on the disk are of. */
  readonly diskUidBase: number;
  /** What the source called itself, and its address: its files say so. */
  readonly hostname: string | undefined;
  readonly address: string;
  /** Paths on the disk that CRIU gave to files which were deleted while open: for a start with memory only. */
  readonly remapped: readonly string[];
}

/** What a sandbox goes on from. */
export interface SnapshotSource {
  readonly file: SnapshotFile;
  /** Path of the subvolume. */
  readonly disk: string;
  /** Directory of CRIU's images; empty without memory. */
  readonly images: string;
}

/** What is known of a capture that may be cut off. */
export interface CaptureAttempt {
  readonly sandboxId: SandboxId;
  /** Whether the whole sandbox stood still before. */
  readonly wasFrozen: boolean;
}

const ATTEMPT = "attempt.json";
const MARKER = "snapshot.json";
const ID = /^[a-z0-9-]{1,64}$/;

/** The snapshots of a pool, a directory each (see `KEPT`). While the pool is not mounted what is asked of them throws (see `checkMounted`). */
export class SnapshotFiles {
  private readonly root: string;

  /** `root`: the pool's directory of snapshots, which is there as long as the pool is mounted. */
  constructor(root: string) {
    this.root = root;
  }

  pathOf(id: string): string {
    if (!ID.test(id)) throw new AppError("invalid_argument", "The id of a snapshot is malformed", { reason: "bad_id" });
    return join(this.root, id);
  }

  imagesOf(id: string): string {
    return join(this.pathOf(id), KEPT.images);
  }

  diskOf(id: string): string {
    return join(this.pathOf(id), KEPT.disk);
  }

  /** Undefined when there is none that is whole. */
  find(id: string): SnapshotFile | undefined {
    if (!ID.test(id)) return undefined;
    checkMounted(this.root);
    return readMarker<SnapshotFile>(join(this.pathOf(id), MARKER));
  }

  get(id: string): SnapshotFile {
    const file = this.find(id);
    if (!file) throw snapshotNotFound(id);
    return file;
  }

  list(): SnapshotFile[] {
    return this.ids().flatMap((id) => this.find(id) ?? []);
  }

  /** Of those that are not whole. */
  halves(): string[] {
    return this.ids().filter((id) => !existsSync(join(this.pathOf(id), MARKER)));
  }

  /** Before anything stands still. */
  begin(id: string, attempt: CaptureAttempt): void {
    checkMounted(this.root);
    makeImages(this.imagesOf(id));
    writeFileSync(join(this.pathOf(id), ATTEMPT), JSON.stringify(attempt), { mode: 0o600 });
  }

  /** Of one that is not whole; undefined where even that was cut off. */
  attemptOf(id: string): CaptureAttempt | undefined {
    try {
      return JSON.parse(readFileSync(join(this.pathOf(id), ATTEMPT), "utf8")) as CaptureAttempt;
    } catch {
      return undefined;
    }
  }

  complete(file: SnapshotFile): Promise<void> {
    return writeMarker(this.pathOf(file.id), MARKER, file);
  }

  /** Repeatable. From its begin on the snapshot is not found. */
  async remove(id: string): Promise<void> {
    checkMounted(this.root);
    await removeKept(this.pathOf(id), MARKER);
  }

  /** Takes it out of sight, at once and for ever; `remove` does the rest. */
  hide(id: string): void {
    checkMounted(this.root);
    rmSync(join(this.pathOf(id), MARKER), { force: true });
  }

  private ids(): string[] {
    checkMounted(this.root);
    return readdirSync(this.root).filter((id) => ID.test(id));
  }
}
