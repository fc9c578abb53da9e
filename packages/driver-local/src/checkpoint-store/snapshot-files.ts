import { existsSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AppError, isAppError, type SandboxId } from "@boxyard/core";
import { type SnapshotInfo, snapshotNotFound } from "@boxyard/driver";
import { checkMounted } from "../pool-storage/mounted.ts";
import type { GenerationFile } from "./generation.ts";
import { KEPT, makeImages, readMarker, removeKept, writeMarker } from "./marker.ts";

/** What is known of a snapshot besides its disk and its images. It is written last: where it exists, the snapshot is whole. */
export interface SnapshotFile
  extends Omit<SnapshotInfo, "damaged">,
    Pick<GenerationFile, "guest" | "mounts" | "frozenGroups" | "volumeLocks"> {
  readonly version: 1;
  /** First id of the range of the processes in the images. */
  readonly uidBase: number;
  /** First id of the range of the owners on the disk. */
  readonly diskUidBase: number;
  /** The source, and the identity of its boot. Files of earlier versions lack them. */
  readonly sandboxId?: SandboxId;
  readonly bootId?: string;
  /** Host name and address of the source, which its files contain. */
  readonly hostname: string | undefined;
  readonly address: string;
  /** Paths on the disk that CRIU gave to files which were deleted while open: for a start with memory only. */
  readonly remapped: readonly string[];
}

/** A snapshot whose marker exists, but cannot be read. */
export interface DamagedSnapshot {
  readonly id: string;
  readonly damaged: true;
}

/** The snapshot that a sandbox starts from. */
export interface SnapshotSource {
  readonly file: SnapshotFile;
  /** Path of the subvolume. */
  readonly disk: string;
  /** Directory of CRIU's images; empty without memory. */
  readonly images: string;
}

/** A note about a capture under way, for a server that has to undo it. */
export interface CaptureAttempt {
  readonly sandboxId: SandboxId;
  /** Whether the whole sandbox was frozen before. */
  readonly wasFrozen: boolean;
}

const ATTEMPT = "attempt.json";
const MARKER = "snapshot.json";
const ID = /^[a-z0-9-]{1,64}$/;

/** The snapshots of a pool, a directory each (see `KEPT`). While the pool is not mounted, all calls throw (see `checkMounted`). */
export class SnapshotFiles {
  private readonly root: string;

  /** `root`: the pool's directory of snapshots, which exists as long as the pool is mounted. */
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

  /** The whole snapshot of this id; undefined when there is none. Throws `data_loss`, reason `bad_snapshot`, when its marker is damaged. */
  find(id: string): SnapshotFile | undefined {
    if (!ID.test(id)) return undefined;
    checkMounted(this.root);
    return readMarker<SnapshotFile>(join(this.pathOf(id), MARKER), "bad_snapshot");
  }

  get(id: string): SnapshotFile {
    const file = this.find(id);
    if (!file) throw snapshotNotFound(id);
    return file;
  }

  /** Every whole snapshot, and every one whose marker is damaged. */
  list(): (SnapshotFile | DamagedSnapshot)[] {
    return this.ids().flatMap((id) => this.look(id) ?? []);
  }

  private look(id: string): SnapshotFile | DamagedSnapshot | undefined {
    try {
      return this.find(id);
    } catch (error) {
      if (isAppError(error, "bad_snapshot")) return { id, damaged: true };
      throw error;
    }
  }

  /** Ids of those that are not whole. */
  incomplete(): string[] {
    return this.ids().filter((id) => !existsSync(join(this.pathOf(id), MARKER)));
  }

  /** Makes the directory of a new snapshot, with a note of the capture. Called before the sandbox is frozen. */
  begin(id: string, attempt: CaptureAttempt): void {
    checkMounted(this.root);
    makeImages(this.imagesOf(id));
    writeFileSync(join(this.pathOf(id), ATTEMPT), JSON.stringify(attempt), { mode: 0o600 });
  }

  /** The note of a snapshot that is not whole; undefined when the capture was cut off before it was written. */
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

  /** Removes a snapshot, whole or not; from the start of the removal it is not found. Repeatable. */
  async remove(id: string): Promise<void> {
    checkMounted(this.root);
    await removeKept(this.pathOf(id), MARKER);
  }

  /** From now on the snapshot is not found; `remove` does the rest. */
  hide(id: string): void {
    checkMounted(this.root);
    rmSync(join(this.pathOf(id), MARKER), { force: true });
  }

  private ids(): string[] {
    checkMounted(this.root);
    return readdirSync(this.root).filter((id) => ID.test(id));
  }
}
