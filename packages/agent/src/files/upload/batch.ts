import { rmdirSync } from "node:fs";
import { httpFailure, type SystemUser } from "../../contracts.ts";
import type { Metadata } from "../metadata.ts";
import { baseName } from "../path/resolve-path.ts";
import { StagedFile, staged } from "../staged-file.ts";
import { guarded } from "../sys/errno.ts";
import { HeldDirs } from "./held-dirs.ts";
import { findTarget } from "./target.ts";

/** What an upload answers for each file (docs/contract/agent.md, Files). */
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

/**
 * The files of one upload. They are written to temporary files and renamed together at the end, so that a failed upload leaves no part of a file
 * and none of its files. The caller ends it with `commit` or `discard`.
 */
export class UploadBatch {
  private readonly user: SystemUser;
  private readonly metadata: Metadata;
  private readonly dirs = new HeldDirs();
  private readonly seen = new Set<string>();
  private readonly created: string[] = [];
  private waiting: Waiting[] = [];
  private readonly done: UploadedFile[] = [];

  constructor(user: SystemUser, metadata: Metadata) {
    this.user = user;
    this.metadata = metadata;
  }

  /** Receives one file: `fill` writes the content. Throws 400 for a second file with the same destination. */
  async add(path: string, fill: (file: StagedFile) => Promise<void>): Promise<void> {
    const { name, existing, dir: found } = findTarget(path, this.user, (made) => this.created.push(made));
    const { dir, id } = this.dirs.hold(found);
    const key = `${id}/${typeof name === "string" ? name : `\0${name.toString("hex")}`}`;
    if (this.seen.has(key)) throw httpFailure(400, `you cannot upload multiple files to the same path '${path}'`);
    this.seen.add(key);
    const what = `write '${path}'`;
    const file = guarded(what, () => StagedFile.create({ dir, name, existing, mayOverwrite: true }));
    await staged(file, what, async () => {
      await fill(file);
      file.finish(this.user, this.metadata);
    });
    this.waiting.push({ file, path });
    this.done.push(this.describe(path));
  }

  /** Renames all files to their destinations. Returns them in the order of the upload. */
  commit(): readonly UploadedFile[] {
    guarded("write the files", () => this.dirs.check());
    for (let next = this.waiting[0]; next; next = this.waiting[0]) {
      const { file, path } = next;
      guarded(`write '${path}'`, () => file.commit());
      this.waiting.shift();
    }
    this.created.length = 0;
    this.dirs.close();
    return this.done;
  }

  /** Removes the temporary files, and the directories that were made for them. Never throws; does nothing after `commit`. */
  discard(): void {
    for (const { file } of this.waiting.splice(0)) file.discard();
    this.dirs.close();
    for (const dir of this.created.splice(0).reverse()) {
      try {
        rmdirSync(dir);
      } catch {
        // A program put a file there meanwhile: the directory stays.
      }
    }
  }

  private describe(path: string): UploadedFile {
    const entry: UploadedFile = { path, name: baseName(path), type: "file" };
    return Object.keys(this.metadata).length > 0 ? { ...entry, metadata: this.metadata } : entry;
  }
}
