import { realpathSync } from "node:fs";
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

const path = (dataDir: string): string => `${dataDir}/instance.json`;

export function instanceName(dataDir: string): string {
  return new Bun.CryptoHasher("sha256").update(realpathSync(dataDir)).digest("hex").slice(0, 8);
}

/** Undefined before set-up, and in a directory that was copied or moved (its names would be another's). */
export function readInstance(dataDir: string): InstanceFile | undefined {
  const file = readVersioned<InstanceFile>(path(dataDir), 1);
  return file?.instance === instanceName(dataDir) ? file : undefined;
}

export function writeInstance(dataDir: string, file: InstanceFile): void {
  writeWhole(path(dataDir), `${JSON.stringify(file, null, 2)}\n`, 0o600);
}
