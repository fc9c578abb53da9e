import { readVersioned, writeWhole } from "./files.ts";
import type { SetupConfig } from "./types.ts";

/** Which stages have been done, each with the key it was done for. */
interface Stamp {
  readonly version: 1;
  readonly done: Readonly<Record<string, string>>;
}

const stampPath = (config: SetupConfig): string => `${config.dataDir}/setup.json`;

export function readDone(config: SetupConfig): Readonly<Record<string, string>> {
  return readVersioned<Stamp>(stampPath(config), 1)?.done ?? {};
}

export function writeDone(config: SetupConfig, stage: string, key: string): void {
  const stamp: Stamp = { version: 1, done: { ...readDone(config), [stage]: key } };
  writeWhole(stampPath(config), `${JSON.stringify(stamp, null, 2)}\n`, 0o600);
}
