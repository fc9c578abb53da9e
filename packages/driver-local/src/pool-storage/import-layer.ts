import { existsSync, readdirSync, renameSync } from "node:fs";
import { AppError } from "@boxyard/core";
import { createSubvolume, destroySubvolume, removeQgroup, subvolumeId } from "../sys/btrfs.ts";
import { lockFile } from "../sys/file-lock.ts";
import { runCommand } from "../sys/run.ts";
import { digestHex, poolPaths } from "./paths.ts";

const ASIDE = "import-";

/** `sha256:<hex>` of a file's bytes: the digest of a layer whose tar it is. */
export async function digestOfFile(path: string): Promise<string> {
  const hasher = new Bun.CryptoHasher("sha256");
  for await (const chunk of Bun.file(path).stream()) hasher.update(chunk);
  return `sha256:${hasher.digest("hex")}`;
}

/**
 * Unpacks a layer's tar into the mounted pool as `layers/<hex>`, with its own owners, modes, file capabilities and extended attributes.
 * `digest` must be that of the file (`data_loss` otherwise). A layer that is there stays as it is. Unpacked aside, written to disk and
 * renamed, so that a layer of this name is always a whole one. Only for tars of our own making: nothing in it is checked.
 */
export async function importLayer(dataDir: string, tar: string, digest: string): Promise<void> {
  const paths = poolPaths(dataDir);
  const layers = `${paths.root}/layers`;
  const target = `${layers}/${digestHex(digest)}`;
  if (existsSync(target)) return;
  const lock = await lockFile(paths.layersLock);
  try {
    if (existsSync(target)) return;
    removeLeftovers(layers);
    const aside = `${ASIDE}${digestHex(digest)}`;
    createSubvolume(layers, aside);
    const [actual] = await Promise.all([
      digestOfFile(tar),
      runCommand([
        "tar",
        "--extract",
        `--file=${tar}`,
        `--directory=${layers}/${aside}`,
        "--numeric-owner",
        "--same-owner",
        "--preserve-permissions",
        "--xattrs",
        "--xattrs-include=*",
      ]),
    ]);
    if (actual !== digest) {
      throw new AppError("data_loss", `${tar} has changed since it was made; remove it and run 'boxyard setup'`, { reason: "bad_digest" });
    }
    await runCommand(["sync", "--file-system", `${layers}/${aside}`]);
    renameSync(`${layers}/${aside}`, target);
  } finally {
    lock.release();
  }
}

/** What an import that was killed has left. Called under the lock, so nobody is still at it. */
function removeLeftovers(layers: string): void {
  for (const name of readdirSync(layers)) {
    if (!name.startsWith(ASIDE)) continue;
    const qgroup = subvolumeId(`${layers}/${name}`);
    destroySubvolume(layers, name);
    removeQgroup(layers, qgroup);
  }
}
