import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { readVersioned, writeWhole } from "./files.ts";

/** What tells this data directory's names on the machine from those of another, and what it was given at set-up. */
export interface InstanceFile {
  readonly version: 1;
  /** 8 hex digits, part of every name on the machine. */
  readonly instance: string;
  /** Address range of its sandboxes. */
  readonly network: string;
  readonly poolSizeBytes: number;
  /** UUID of the pool's file system; undefined before it was made. Another one is another pool, without the templates of this one. */
  readonly poolId?: string;
}

/** The second stands beside the sandboxes, whose addresses are of its range: as long as they are there, so is it. */
const paths = (dataDir: string) => [`${dataDir}/instance.json`, `${dataDir}/sandboxes/instance.json`] as const;

export function instanceName(dataDir: string): string {
  return new Bun.CryptoHasher("sha256").update(realpathSync(dataDir)).digest("hex").slice(0, 8);
}

/** Undefined before set-up, and in a directory that was copied or moved (its names would be another's). */
export function readInstance(dataDir: string): InstanceFile | undefined {
  const name = instanceName(dataDir);
  return paths(dataDir)
    .map((path) => readVersioned<InstanceFile>(path, 1))
    .find((file) => file?.instance === name);
}

/** True when neither of the two copies is missing. */
export function hasBothCopies(dataDir: string): boolean {
  return paths(dataDir).every((path) => existsSync(path));
}

export function writeInstance(dataDir: string, file: InstanceFile): void {
  mkdirSync(`${dataDir}/sandboxes`, { recursive: true, mode: 0o700 });
  for (const path of paths(dataDir)) writeWhole(path, `${JSON.stringify(file, null, 2)}\n`, 0o600);
}
