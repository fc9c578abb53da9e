import { existsSync, mkdirSync, realpathSync } from "node:fs";
import { readVersioned, writeWhole } from "./files.ts";

/** Identity of a data directory on this machine, and what set-up has chosen for it. */
export interface InstanceFile {
  readonly version: 1;
  /** 8 hex digits, part of every name on the machine. */
  readonly instance: string;
  /** Address range of its sandboxes. */
  readonly network: string;
  readonly poolSizeBytes: number;
  /** UUID of the pool's file system; undefined before it was made. When the pool has another UUID, it was replaced, and the templates are lost. */
  readonly poolId?: string;
}

/** The second copy is in the directory of the sandboxes, whose addresses are in its range: so it exists as long as they do. */
const paths = (dataDir: string) => [`${dataDir}/instance.json`, `${dataDir}/sandboxes/instance.json`] as const;

export function instanceName(dataDir: string): string {
  return new Bun.CryptoHasher("sha256").update(realpathSync(dataDir)).digest("hex").slice(0, 8);
}

/** Undefined before set-up, and in a directory that was copied or moved: its names belong to the original. */
export function readInstance(dataDir: string): InstanceFile | undefined {
  const name = instanceName(dataDir);
  return paths(dataDir)
    .map((path) => readVersioned<InstanceFile>(path, 1))
    .find((file) => file?.instance === name);
}

/** True when both copies exist. */
export function hasBothCopies(dataDir: string): boolean {
  return paths(dataDir).every((path) => existsSync(path));
}

export function writeInstance(dataDir: string, file: InstanceFile): void {
  mkdirSync(`${dataDir}/sandboxes`, { recursive: true, mode: 0o700 });
  for (const path of paths(dataDir)) writeWhole(path, `${JSON.stringify(file, null, 2)}\n`, 0o600);
}
