import { chmodSync, existsSync, mkdirSync, readdirSync, readFileSync, readlinkSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { AppError } from "@boxyard/core";
import { isPoolMounted } from "../../pool-storage/mount.ts";
import { poolPaths } from "../../pool-storage/paths.ts";
import { runCommand } from "../../sys/run.ts";
import { readWhole, rewriteWhole } from "./page-cache.ts";

/** Name of the symbolic link to the bundle that new sandboxes get. */
const CURRENT = "current";
const ASIDE = "new-";
/** The program of the bundle that every sandbox runs, and the only large file. */
const AGENT = "agent";

const guestRoot = (dataDir: string): string => `${dataDir}/guest`;

/** Makes a directory in which a bundle is built before it is installed: on the same file system, so that it can be renamed. */
export function guestStaging(dataDir: string): string {
  const root = guestRoot(dataDir);
  mkdirSync(root, { recursive: true, mode: 0o755 });
  for (const name of readdirSync(root)) if (name.startsWith(ASIDE)) rmSync(join(root, name), { recursive: true, force: true });
  const directory = join(root, `${ASIDE}${process.pid}`);
  mkdirSync(directory, { mode: 0o755 });
  return directory;
}

/** Directory of the bundle that new sandboxes get. `failed_precondition`, reason `no_guest`, before set-up. */
export function guestDirectory(dataDir: string): string {
  const directory = findGuestDirectory(dataDir);
  if (directory !== undefined) return directory;
  throw new AppError("failed_precondition", `there is no guest bundle in ${guestRoot(dataDir)}: run 'boxyard setup'`, {
    reason: "no_guest",
  });
}

export function findGuestDirectory(dataDir: string): string | undefined {
  try {
    const directory = join(guestRoot(dataDir), readlinkSync(join(guestRoot(dataDir), CURRENT)));
    return existsSync(join(directory, "init")) ? directory : undefined;
  } catch {
    return undefined;
  }
}

/** Moves a built bundle from its staging directory to `guest/<hash of its contents>` and makes it the current one. Returns its directory. */
export async function installGuest(dataDir: string, staging: string): Promise<string> {
  const hash = hashDirectory(staging);
  const directory = join(guestRoot(dataDir), hash);
  if (existsSync(directory)) {
    // The same content was installed before, and sandboxes may be using it.
    rmSync(staging, { recursive: true });
  } else {
    chmodSync(staging, 0o755);
    rewriteWhole(join(staging, AGENT));
    await runCommand(["sync", "--file-system", staging]);
    renameSync(staging, directory);
  }
  const link = join(guestRoot(dataDir), `${CURRENT}.new`);
  rmSync(link, { force: true });
  symlinkSync(hash, link);
  renameSync(link, join(guestRoot(dataDir), CURRENT));
  removeOldGuests(dataDir, hash);
  return directory;
}

/** After a start of the machine, before the first sandbox reads the agent page by page. */
export const readAgentWhole = (guest: string): Promise<void> => readWhole(join(guest, AGENT));

/** Hash of names and contents, without modes, which are always the same. 16 hex digits. */
function hashDirectory(directory: string): string {
  const hasher = new Bun.CryptoHasher("sha256");
  const files = readdirSync(directory, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))
    .sort();
  for (const file of files)
    hasher
      .update(`${file.slice(directory.length)}\0`)
      .update(readFileSync(file))
      .update("\0");
  return hasher.digest("hex").slice(0, 16);
}

/**
 * Removes older bundles, unless one may still be in use: by a sandbox in any state, by a snapshot, or by a server that knows its path. When the
 * pool is not mounted, its snapshots are unknown, so nothing is removed.
 */
function removeOldGuests(dataDir: string, current: string): void {
  const { image, snapshots } = poolPaths(dataDir);
  const inUse = [join(dataDir, "sandboxes"), snapshots].some((directory) => existsSync(directory) && readdirSync(directory).length > 0);
  if (inUse || existsSync(join(dataDir, "server.json")) || (existsSync(image) && !isPoolMounted(dataDir))) return;
  for (const name of readdirSync(guestRoot(dataDir))) {
    if (name !== CURRENT && name !== current) rmSync(join(guestRoot(dataDir), name), { recursive: true, force: true });
  }
}
