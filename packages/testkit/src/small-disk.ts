import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { eventually } from "./eventually.ts";

/** A file system of a test's own, which can be filled or made to fail without harm to the machine's. */
export interface SmallDisk {
  /** Where it is mounted. */
  readonly path: string;
  /** Removes it with all that is on it; waits until nothing uses it any more. */
  remove(): Promise<void>;
}

/** Mounts an ext4 of so many MiB, all of which root and others may use, out of a file in the temporary directory. */
export function makeSmallDisk(mib: number): SmallDisk {
  const directory = mkdtempSync(join(tmpdir(), "boxyard-disk-"));
  const [image, path] = [join(directory, "image"), join(directory, "disk")];
  try {
    mkdirSync(path);
    run("truncate", "-s", `${mib}M`, image);
    run("mkfs.ext4", "-q", "-m", "0", image);
    run("mount", "-o", "loop", image, path);
  } catch (error) {
    rmSync(directory, { recursive: true });
    throw error;
  }
  const remove = async () => {
    // The kernel may close a file on it a moment after its last user has gone.
    await eventually("the disk is unmounted", () => Bun.spawnSync(["umount", path]).exitCode === 0, { withinMs: 30_000 });
    rmSync(directory, { recursive: true });
  };
  return { path, remove };
}

function run(...argv: string[]): void {
  const { exitCode, stderr } = Bun.spawnSync(argv);
  if (exitCode !== 0) throw new AppError("internal", `${argv.join(" ")}: ${stderr.toString()}`, { reason: "small_disk" });
}
