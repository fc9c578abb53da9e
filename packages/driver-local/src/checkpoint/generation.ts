import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { AppError, type SandboxId } from "@boxyard/core";
import type { ProcessIdentity } from "../state/record.ts";
import { destroySubvolume } from "../sys/btrfs.ts";
import { hasErrno } from "../sys/libc.ts";
import { runCommand } from "../sys/run.ts";

/** One bind mount of a sandbox that CRIU is told of by name, because its source lies outside the sandbox. */
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
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** First id of the range that owners in images and disk are of. */
  readonly uidBase: number;
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

/** The generations of one sandbox, a directory each: `images/`, the subvolume `disk`, and the marker that says that both are whole. */
export class Generations {
  private readonly directory: string;

  /** `root`: the pool's directory of generations. */
  constructor(root: string, sandboxId: SandboxId) {
    this.directory = join(root, sandboxId);
  }

  pathOf(incarnation: number): string {
    return join(this.directory, String(incarnation));
  }

  imagesOf(incarnation: number): string {
    return join(this.pathOf(incarnation), "images");
  }

  diskOf(incarnation: number): string {
    return join(this.pathOf(incarnation), "disk");
  }

  /** The newest whole one. */
  whole(): GenerationFile | undefined {
    return this.incarnations()
      .sort((a, b) => b - a)
      .map((incarnation) => readMarker(join(this.pathOf(incarnation), MARKER)))
      .find((file) => file !== undefined);
  }

  /** Makes the directory of a new one, empty; what an attempt that was cut off has left there goes. */
  async begin(incarnation: number): Promise<void> {
    await this.remove(incarnation);
    mkdirSync(this.imagesOf(incarnation), { recursive: true, mode: 0o700 });
  }

  /** Makes it whole: once this resolves, a crash of the machine does not lose it. */
  async complete(file: GenerationFile): Promise<void> {
    const directory = this.pathOf(file.incarnation);
    const aside = join(directory, `${MARKER}.new`);
    await writeFile(aside, `${JSON.stringify(file)}\n`, { mode: 0o600 });
    // Images, disk and text are on the disk before the text has its name.
    await flush(directory);
    await rename(aside, join(directory, MARKER));
    await flush(directory);
    // What an earlier resume went on from.
    for (const incarnation of this.incarnations()) if (incarnation !== file.incarnation) await this.remove(incarnation);
  }

  /** Repeatable. The marker goes first, so that a part is never taken for a whole. */
  async remove(incarnation: number): Promise<void> {
    const directory = this.pathOf(incarnation);
    await rm(join(directory, MARKER), { force: true });
    try {
      destroySubvolume(directory, "disk");
    } catch (error) {
      if (!hasErrno(error, "ENOENT")) throw error;
    }
    await rm(directory, { recursive: true, force: true });
  }

  /** All of them. Repeatable. Fails with EROFS while the pool takes no writes and something is left. */
  async removeAll(): Promise<void> {
    if (!existsSync(this.directory)) return;
    for (const incarnation of this.incarnations()) await this.remove(incarnation);
    await rm(this.directory, { recursive: true, force: true });
  }

  private incarnations(): number[] {
    return existsSync(this.directory) ? readdirSync(this.directory).map(Number).filter(Number.isInteger) : [];
  }
}

/** The file system that `path` lies in is on the disk; in a process of its own, for it takes from one to many milliseconds. */
async function flush(path: string): Promise<void> {
  await runCommand(["sync", "--file-system", path]);
}

function readMarker(path: string): GenerationFile | undefined {
  let text: string;
  try {
    text = readFileSync(path, "utf8");
  } catch (error) {
    if (hasErrno(error, "ENOENT", "ENOTDIR")) return undefined;
    throw error;
  }
  const file = JSON.parse(text) as GenerationFile;
  if (file.version !== 1) throw new AppError("data_loss", `${path} is of another version`, { reason: "bad_generation" });
  return file;
}
