import { existsSync, fstatSync, mkdirSync, readFileSync, renameSync, rmdirSync, rmSync, statSync, writeFileSync } from "node:fs";
import type { FileLock } from "@boxyard/core/file-lock";
import { lockFile } from "../sys/file-lock.ts";
import { hasErrno } from "../sys/libc.ts";
import { RUN_DIRECTORY } from "./run-directory.ts";

/** Which data directory has which range, by path. */
type Claims = Readonly<Record<string, string>>;

const fileOf = (runDirectory: string) => `${runDirectory}/ranges.json`;
const lockOf = (runDirectory: string) => `${runDirectory}/ranges.lock`;

/**
 * Claims a range of addresses for a data directory, until `freeRange` or the end of the directory. The kernel knows a range only while a server has
 * it, so that without a claim two data directories that are set up at the same time could choose the same one. `choose` gets the ranges that other
 * data directories have, and returns its choice; no other claim is made meanwhile. It replaces the earlier claim of the data directory. Claims are
 * lost at a reboot; each server claims its range again when it opens.
 */
export async function claimRange(
  dataDir: string,
  choose: (others: readonly string[]) => string,
  runDirectory = RUN_DIRECTORY,
): Promise<string> {
  return withClaims(runDirectory, (claims) => {
    const { [dataDir]: _, ...others } = claims;
    const network = choose(Object.values(others));
    return { result: network, claims: { ...others, [dataDir]: network } };
  });
}

/** Ends the claim of a data directory. Repeatable. */
export async function freeRange(dataDir: string, runDirectory = RUN_DIRECTORY): Promise<void> {
  if (!existsSync(fileOf(runDirectory))) return;
  await withClaims(runDirectory, ({ [dataDir]: _, ...others }) => ({ result: undefined, claims: others }));
}

async function withClaims<T>(runDirectory: string, work: (claims: Claims) => { result: T; claims: Claims }): Promise<T> {
  const lock = await lockClaims(runDirectory);
  try {
    const before = readClaims(runDirectory);
    const alive = Object.fromEntries(Object.entries(before).filter(([dataDir]) => existsSync(dataDir)));
    const { result, claims } = work(alive);
    if (Object.keys(claims).length > 0) writeClaims(runDirectory, claims);
    else removeClaims(runDirectory);
    return result;
  } finally {
    lock.release();
  }
}

/** The lock is removed with the last claim, so it is ours only if its file is still there when it was taken. */
async function lockClaims(runDirectory: string): Promise<FileLock> {
  for (;;) {
    mkdirSync(runDirectory, { recursive: true, mode: 0o700 });
    try {
      const lock = await lockFile(lockOf(runDirectory));
      if (statSync(lockOf(runDirectory), { throwIfNoEntry: false })?.ino === fstatSync(lock.fd).ino) return lock;
      lock.release();
    } catch (error) {
      // The last one that left the machine has removed the directory.
      if (!hasErrno(error, "ENOENT")) throw error;
    }
  }
}

/** A file that is damaged claims nothing: the kernel still knows the ranges of servers that run. */
function readClaims(runDirectory: string): Claims {
  try {
    const value: unknown = JSON.parse(readFileSync(fileOf(runDirectory), "utf8"));
    const entries = typeof value === "object" && value !== null ? Object.entries(value) : [];
    return Object.fromEntries(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return {};
  }
}

function writeClaims(runDirectory: string, claims: Claims): void {
  const aside = `${fileOf(runDirectory)}.new`;
  writeFileSync(aside, `${JSON.stringify(claims, null, 2)}\n`, { mode: 0o600 });
  renameSync(aside, fileOf(runDirectory));
}

function removeClaims(runDirectory: string): void {
  for (const name of [fileOf(runDirectory), `${fileOf(runDirectory)}.new`, lockOf(runDirectory)]) rmSync(name, { force: true });
  try {
    rmdirSync(runDirectory);
  } catch (error) {
    if (!hasErrno(error, "ENOTEMPTY", "ENOENT")) throw error;
  }
}
