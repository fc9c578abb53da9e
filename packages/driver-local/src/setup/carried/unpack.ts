import { chmodSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { AppError } from "@boxyard/core";
import { makeGuestDirectories, openGuestToAll } from "../guest/directories.ts";
import { applyPatch } from "./runtime-patch.ts";

/*
 * The files that the executable carries, in the directory CARRIED_DIRECTORY:
 *   facts.json        CarriedFacts
 *   images/…          as in a checkout
 *   guest/….zst       the guest bundle's files, compressed one by one; guest/agent.patch.zst makes the agent from the executable itself
 *   fork-server.zst   the server's helper
 *   criu-preload.zst  the library that a dump loads before those of CRIU
 *   ….tgz             packages of npm's registry in the base template
 *   sdk.tgz           the installable client package
 *   dashboard/…       the files of the dashboard
 */
export const FACTS_FILE = "facts.json";
export const GUEST_DIRECTORY = "guest";
export const SDK_PACKAGE = "sdk.tgz";
export const DASHBOARD = "dashboard";
export const FORK_SERVER = "fork-server.zst";
export const CRIU_PRELOAD = "criu-preload.zst";
export const AGENT = "agent";
export const PATCH_SUFFIX = ".patch";
export const COMPRESSED_SUFFIX = ".zst";

export interface CarriedFacts {
  readonly version: 3;
  /** Equal to the key of a checkout with the same sources. */
  readonly guestKey: string;
  /** As `guestKey`; of the library of CRIU too. */
  readonly forkServerKey: string;
  /** Names of the files of npm packages in this directory, by the names of the packages. */
  readonly npmPackages: Readonly<Record<string, string>>;
}

export function readCarriedFacts(root: string): CarriedFacts {
  const facts = JSON.parse(readFileSync(join(root, FACTS_FILE), "utf8")) as CarriedFacts;
  if (facts.version !== 3) throw new AppError("internal", "the executable carries facts of another version", { reason: "bad_executable" });
  return facts;
}

/** Writes the fork server's program below `root` to the new file `target`. */
export const unpackForkServer = (root: string, target: string): void => unpack(join(root, FORK_SERVER), target);

/** As `unpackForkServer`, for the library of CRIU. */
export const unpackCriuPreload = (root: string, target: string): void => unpack(join(root, CRIU_PRELOAD), target);

function unpack(packed: string, target: string): void {
  writeFileSync(target, Bun.zstdDecompressSync(readFileSync(packed)), { flag: "wx" });
  chmodSync(target, 0o755);
}

/** Writes the guest bundle below `root` into the directory `target`. `runtime`: the program that the agent is made from; default: this one. */
export function unpackGuest(root: string, target: string, runtime = "/proc/self/exe"): void {
  makeGuestDirectories(target);
  const directory = join(root, GUEST_DIRECTORY);
  for (const entry of readdirSync(directory, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    const packed = join(entry.parentPath, entry.name);
    const content = Bun.zstdDecompressSync(readFileSync(packed));
    const path = join(target, packed.slice(directory.length + 1, -COMPRESSED_SUFFIX.length));
    mkdirSync(dirname(path), { recursive: true });
    if (path === join(target, `${AGENT}${PATCH_SUFFIX}`)) applyPatch(content, runtime, join(target, AGENT));
    else writeFileSync(path, content, { flag: "wx" });
  }
  openGuestToAll(target);
}
