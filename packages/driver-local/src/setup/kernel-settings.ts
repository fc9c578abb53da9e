import { readFileSync, writeFileSync } from "node:fs";
import { fromErrno } from "@boxyard/core/node";
import { readVersioned, writeWhole } from "./files.ts";
import type { SetupConfig } from "./types.ts";

interface KernelSetting {
  readonly name: string;
  readonly atLeast: number;
}

/**
 * What set-up changes machine-wide. The kernel counts the inotify instances and watches of all sandboxes against one account of root's,
 * whose default of 128 instances two sandboxes would use up.
 */
export const KERNEL_SETTINGS: readonly KernelSetting[] = [
  { name: "fs.inotify.max_user_instances", atLeast: 131_072 },
  { name: "fs.inotify.max_user_watches", atLeast: 1_048_576 },
];

/** What a setting was before us, and what we made of it. */
interface Change {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

interface Record {
  readonly version: 1;
  readonly changes: readonly Change[];
}

const recordPath = (config: SetupConfig): string => `${config.dataDir}/kernel.json`;
const settingPath = (name: string): string => `/proc/sys/${name.replaceAll(".", "/")}`;

export function readSetting(name: string): number {
  return Number(readFileSync(settingPath(name), "utf8"));
}

function writeSetting(name: string, value: number): void {
  try {
    writeFileSync(settingPath(name), String(value));
  } catch (error) {
    throw fromErrno(`set ${name} to ${value} (is /proc/sys writable here?)`, error);
  }
}

export function settingsTooLow(): readonly KernelSetting[] {
  return KERNEL_SETTINGS.filter(({ name, atLeast }) => readSetting(name) < atLeast);
}

/** Raises what is too low; the old values are on disk before anything changes. */
export function raiseSettings(config: SetupConfig): readonly Change[] {
  const changes = settingsTooLow().map(({ name, atLeast }) => ({ name, before: readSetting(name), after: atLeast }));
  const kept = (readVersioned<Record>(recordPath(config), 1)?.changes ?? []).filter(
    (old) => !changes.some(({ name }) => name === old.name),
  );
  const record: Record = { version: 1, changes: [...kept, ...changes] };
  writeWhole(recordPath(config), `${JSON.stringify(record, null, 2)}\n`, 0o600);
  for (const { name, after } of changes) writeSetting(name, after);
  return changes;
}

/** Puts back what set-up changed, unless somebody else has changed it since. For `uninstall`; repeatable. */
export function restoreKernelSettings(config: SetupConfig): void {
  const changes = readVersioned<Record>(recordPath(config), 1)?.changes ?? [];
  for (const { name, before, after } of changes) if (readSetting(name) === after) writeSetting(name, before);
  writeWhole(recordPath(config), `${JSON.stringify({ version: 1, changes: [] } satisfies Record, null, 2)}\n`, 0o600);
}
