import { mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { fromErrno } from "@boxyard/core/node";
import { RUN_DIRECTORY } from "../network/index.ts";
import { hasErrno } from "../sys/libc.ts";
import { readVersioned, writeWhole } from "./files.ts";

interface KernelSetting {
  readonly name: string;
  readonly atLeast: number;
}

/**
 * Machine-wide settings that set-up raises: sizes of tables that all sandboxes share, large enough for a thousand sandboxes at their own limits.
 * The memory of an entry counts for the sandbox that made it (files, processes, terminals, sockets), or is small.
 */
const KERNEL_SETTINGS: readonly KernelSetting[] = [
  // The kernel counts the instances of all sandboxes for root: the default of 128 is enough for two sandboxes.
  { name: "fs.inotify.max_user_instances", atLeast: 131_072 },
  // And their watches: what 2,048 sandboxes may have, as for the instances. Sixteen would be enough to take a million.
  { name: "fs.inotify.max_user_watches", atLeast: 134_217_728 },
  { name: "fs.file-max", atLeast: 100_000_000 },
  // The largest value that the kernel accepts.
  { name: "kernel.pid_max", atLeast: 4_194_304 },
  { name: "kernel.threads-max", atLeast: 1_048_576 },
  { name: "kernel.pty.max", atLeast: 262_144 },
  { name: "net.ipv4.tcp_max_orphans", atLeast: 262_144 },
  // Exists once connections are tracked; each tracked connection takes 320 bytes.
  { name: "net.netfilter.nf_conntrack_max", atLeast: 1_048_576 },
];

/** The value of a setting before set-up raised it, and after. */
interface Change {
  readonly name: string;
  readonly before: number;
  readonly after: number;
}

interface Record {
  readonly version: 1;
  readonly changes: readonly Change[];
}

/**
 * In the directory that all servers of the machine share: the last server restores what the first has changed. A reboot resets the settings and
 * empties this directory.
 */
const recordPath = (directory: string): string => `${directory}/kernel.json`;
/** The kernel's directory; tests use another one. */
const PROC_SYS = "/proc/sys";
const settingPath = (name: string, procSys: string): string => `${procSys}/${name.replaceAll(".", "/")}`;

/** Undefined when the kernel has no such setting, or does not have it yet. */
function readSetting(name: string, procSys: string): number | undefined {
  try {
    return Number(readFileSync(settingPath(name, procSys), "utf8"));
  } catch (error) {
    if (hasErrno(error, "ENOENT")) return undefined;
    throw error;
  }
}

function writeSetting(name: string, value: number, procSys: string): void {
  try {
    writeFileSync(settingPath(name, procSys), String(value));
  } catch (error) {
    throw fromErrno(`set ${name} to ${value} (is /proc/sys writable here?)`, error);
  }
}

export function settingsTooLow(procSys: string = PROC_SYS): readonly KernelSetting[] {
  return KERNEL_SETTINGS.filter(({ name, atLeast }) => (readSetting(name, procSys) ?? atLeast) < atLeast);
}

/** Raises settings that are too low, and returns the changes; the old values are on the disk before anything changes. */
export function raiseSettings(directory: string = RUN_DIRECTORY, procSys: string = PROC_SYS): readonly Change[] {
  const changes = settingsTooLow(procSys).flatMap(({ name, atLeast }) => {
    const before = readSetting(name, procSys);
    return before === undefined ? [] : [{ name, before, after: atLeast }];
  });
  const kept = (readVersioned<Record>(recordPath(directory), 1)?.changes ?? []).filter(
    (old) => !changes.some(({ name }) => name === old.name),
  );
  if (changes.length === 0) return changes;
  const record: Record = { version: 1, changes: [...kept, ...changes] };
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  writeWhole(recordPath(directory), `${JSON.stringify(record, null, 2)}\n`, 0o600);
  for (const { name, after } of changes) writeSetting(name, after, procSys);
  return changes;
}

/** Restores the settings that set-up raised, unless another program has changed them since. For `uninstall`; repeatable. */
export function restoreKernelSettings(directory: string, procSys: string = PROC_SYS): void {
  const changes = readVersioned<Record>(recordPath(directory), 1)?.changes ?? [];
  for (const { name, before, after } of changes) if (readSetting(name, procSys) === after) writeSetting(name, before, procSys);
  rmSync(recordPath(directory), { force: true });
}
