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
/** The kernel's own folder; another one in tests. */
const PROC_SYS = "/proc/sys";
const settingPath = (name: string, procSys: string): string => `${procSys}/${name.replaceAll(".", "/")}`;

function readSetting(name: string, procSys: string): number {
  return Number(readFileSync(settingPath(name, procSys), "utf8"));
}

function writeSetting(name: string, value: number, procSys: string): void {
  try {
    writeFileSync(settingPath(name, procSys), String(value));
  } catch (error) {
    throw fromErrno(`set ${name} to ${value} (is /proc/sys writable here?)`, error);
  }
}

export function settingsTooLow(procSys: string = PROC_SYS): readonly KernelSetting[] {
  return KERNEL_SETTINGS.filter(({ name, atLeast }) => readSetting(name, procSys) < atLeast);
}

/** Raises what is too low; the old values are on disk before anything changes. */
export function raiseSettings(config: SetupConfig, procSys: string = PROC_SYS): readonly Change[] {
  const changes = settingsTooLow(procSys).map(({ name, atLeast }) => ({ name, before: readSetting(name, procSys), after: atLeast }));
  const kept = (readVersioned<Record>(recordPath(config), 1)?.changes ?? []).filter(
    (old) => !changes.some(({ name }) => name === old.name),
  );
  const record: Record = { version: 1, changes: [...kept, ...changes] };
  writeWhole(recordPath(config), `${JSON.stringify(record, null, 2)}\n`, 0o600);
  for (const { name, after } of changes) writeSetting(name, after, procSys);
  return changes;
}

/** Puts back what set-up changed, unless somebody else has changed it since. For `uninstall`; repeatable. */
export function restoreKernelSettings(config: SetupConfig, procSys: string = PROC_SYS): void {
  const changes = readVersioned<Record>(recordPath(config), 1)?.changes ?? [];
  for (const { name, before, after } of changes) if (readSetting(name, procSys) === after) writeSetting(name, before, procSys);
  writeWhole(recordPath(config), `${JSON.stringify({ version: 1, changes: [] } satisfies Record, null, 2)}\n`, 0o600);
}
