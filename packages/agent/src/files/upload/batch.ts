import { rmdirSync } from "node:fs";
import { httpFailure, type SystemUser } from "../../contracts.ts";
import type { Metadata } from "../metadata.ts";
import type { PinnedDir } from "../path/pinned-dir.ts";
import { baseName } from "../path/resolve-path.ts";
import { StagedFile, staged } from "../staged-file.ts";
import { guarded } from "../sys/errno.ts";
import { findTarget, type Target } from "./target.ts";

/** What an upload answers for each file (interface document 2.2). */
export interface UploadedFile {
  readonly path: string;
  readonly name: string;
  readonly type: "file";
  readonly metadata?: Metadata;
}

interface Waiting {
  readonly file: StagedFile;
  readonly path: string;
}

/** Directories held open at once. Beyond it, what is finished is put in place before the next file. */
const HELD_DIRS = 256;

/**
 * The files of one upload. They are written beside their destinations and put in place together at the end, so that a broken upload leaves
 * neither half a file nor half of its files. Always ends with `commit` or `discard`.
 */
export class UploadBatch {
  private readonly user: SystemUser;
  private readonly metadata: Metadata;
  private readonly dirs = new Map<string, PinnedDir>();
  private readonly seen = new Set<string>();
  private readonly created: string[] = [];
  private waiting: Waiting[] = [];
  private readonly done: UploadedFile[] = [];

  constructor(user: SystemUser, metadata: Metadata) {
    this.user = user;
    this.metadata = metadata;
  }

  /** Receives one file: `fill` writes the content. Throws 400 for a path that was there before in this upload. */
  async add(path: string, fill: (file: StagedFile) => Promise<void>): Promise<void> {
    if (this.dirs.size >= HELD_DIRS) this.place();
    const target = this.hold(findTarget(path, this.user, (dir) => this.created.push(dir)));
    const key = `${target.dir.identity()}/${target.name}`;
    if (this.seen.has(key)) throw httpFailure(400, `you cannot upload multiple files to the same path '${path}'`);
    this.seen.add(key);
    const what = `write '${path}'`;
    const file = guarded(what, () => StagedFile.create({ ...target, mayOverwrite: true }));
    await staged(file, what, async () => {
      await fill(file);
      file.finish(this.user, this.metadata);
    });
    this.waiting.push({ file, path });
    this.done.push(this.describe(path));
  }

  /** Puts everything in place. Returns the files in the order they came. */
  commit(): readonly UploadedFile[] {
    this.place();
    return this.done;
  }

  /** Takes back what is not in place yet, with the directories made for it. Never throws; does nothing after `commit`. */
  discard(): void {
    for (const { file } of this.waiting.splice(0)) file.discard();
    this.release();
    for (const dir of this.created.splice(0).reverse()) {
      try {
        rmdirSync(dir);
      } catch {
        // Somebody put something there meanwhile: it stays.
      }
    }
  }

  private describe(path: string): UploadedFile {
    const entry: UploadedFile = { path, name: baseName(path), type: "file" };
    return Object.keys(this.metadata).length > 0 ? { ...entry, metadata: this.metadata } : entry;
  }

  /** One descriptor for each directory, however many files go there. */
  private hold(target: Target): Target {
    const identity = target.dir.identity();
    const held = this.dirs.get(identity);
    if (held) {
      target.dir.close();
      return { ...target, dir: held };
    }
    this.dirs.set(identity, target.dir);
    return target;
  }

  private place(): void {
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      const { file, path } = next;
      guarded(`write '${path}'`, () => file.commit());
      this.waiting.shift();
    }
    this.created.length = 0;
    this.release();
  }

  private release(): void {
    for (const dir of this.dirs.values()) dir.close();
    this.dirs.clear();
  }
}
