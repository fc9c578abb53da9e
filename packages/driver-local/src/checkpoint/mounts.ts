import { readFileSync } from "node:fs";
import { plainField } from "@boxyard/core/mountinfo";
import type { SandboxCgroup } from "../cgroup/sandbox-cgroup.ts";
import type { ExternalMount } from "../checkpoint-store/generation.ts";
import { factAt } from "../figures/files.ts";
import { placeOf } from "../rootfs/volume-mounts.ts";

/** Types of file systems that belong to a sandbox alone: CRIU makes them anew. */
const OWN_TYPES = new Set(["proc", "tmpfs", "devpts", "mqueue", "sysfs"]);

/** Names of sources that differ from machine to machine, or from sandbox to sandbox. */
const SOURCES = { guest: "guest", host: "host", cgroup: "cgroup", empty: "empty" } as const;
const DEVICE = "device:";
/** Prefixes for a volume that users made, before its id. */
const VOLUME = { rw: "volume:", ro: "volume-ro:" } as const;
/** Where it is in the pool (`poolPaths`), as mountinfo shows it. */
const VOLUME_ROOT = /^\/volumes\/([a-z0-9-]+)\/disk$/;
/** Prefix for a file of the host facts that is mounted over a file of the kernel. */
const FIGURE = "figure:";

/** Paths of the sources that the driver mounts anew for a restore. */
export interface Places {
  readonly guest: string;
  readonly host: string;
  /** Directory of device nodes. */
  readonly devices: string;
  /** An empty, read-only directory. */
  readonly empty: string;
  /** Directory of mounted volumes. */
  readonly volumes: string;
  readonly cgroup: SandboxCgroup;
}

/**
 * The mounts of a process whose sources are outside its sandbox (the table of `addRootMounts`), from its mountinfo: no program in a sandbox can mount,
 * so these are the mounts of its create. Each source is named so that `sourcePath` finds it for another sandbox or after a restart.
 */
export function externalMounts(mountinfo: string, guestTarget: string): ExternalMount[] {
  return mountinfo
    .trim()
    .split("\n")
    .flatMap((line) => {
      const [left = "", right = ""] = line.split(" - ");
      const [, , , root = "", target = "", flags = ""] = left.split(" ").map(plainField);
      const [type = "", , options = ""] = right.split(" ");
      if (type === "tmpfs" && root === "/" && isReadOnly(flags)) return [{ target, source: SOURCES.empty }];
      // CRIU gets the root by an option; a mounted part of a tmpfs is a device node of the driver.
      const isOwn = target === "/" || (OWN_TYPES.has(type) && !(type === "tmpfs" && root !== "/"));
      if (isOwn) return [];
      return [{ target, source: nameOf({ type, root, target, options, guestTarget, readOnly: isReadOnly(flags) }) }];
    });
}

/** Read-only tmpfs mounts only hide directories of the kernel. If CRIU had to keep their content, it would start a `tar` for each, twice. */
const isReadOnly = (flags: string): boolean => flags.split(",").includes("ro");

interface Mount {
  readonly type: string;
  readonly root: string;
  readonly target: string;
  /** Options of the file system, which name the controllers of a v1 hierarchy. */
  readonly options: string;
  readonly guestTarget: string;
  readonly readOnly: boolean;
}

function nameOf({ type, root, target, guestTarget, readOnly }: Mount): string {
  const volume = type === "btrfs" ? VOLUME_ROOT.exec(root)?.[1] : undefined;
  if (volume !== undefined) return `${readOnly ? VOLUME.ro : VOLUME.rw}${volume}`;
  if (target === guestTarget) return SOURCES.guest;
  if (target === `${guestTarget}/host`) return SOURCES.host;
  const fact = factAt(target);
  if (fact) return `${FIGURE}${fact}`;
  if (type === "cgroup2") return SOURCES.cgroup;
  if (type === "cgroup") return `${SOURCES.cgroup}:${target.slice(target.lastIndexOf("/") + 1)}`;
  // A device node, or /dev/null over a file that is hidden.
  return `${DEVICE}${root}`;
}

/** The volume that a named source is; undefined for others. */
export function volumeOf(source: string): { readonly id: string; readonly readOnly: boolean } | undefined {
  if (source.startsWith(VOLUME.rw)) return { id: source.slice(VOLUME.rw.length), readOnly: false };
  if (source.startsWith(VOLUME.ro)) return { id: source.slice(VOLUME.ro.length), readOnly: true };
  return undefined;
}

export const mountinfoOf = (pid: number): string => readFileSync(`/proc/${pid}/mountinfo`, "utf8");

/** The path of a named source now. */
export function sourcePath(source: string, places: Places): string {
  const volume = volumeOf(source);
  if (volume) return placeOf(places.volumes, volume.id, volume.readOnly);
  if (source === SOURCES.guest) return places.guest;
  if (source === SOURCES.host) return places.host;
  if (source === SOURCES.empty) return places.empty;
  if (source === SOURCES.cgroup) return places.cgroup.top;
  if (source.startsWith(FIGURE)) return `${places.host}/${source.slice(FIGURE.length)}`;
  if (source.startsWith(DEVICE)) return `${places.devices}${source.slice(DEVICE.length)}`;
  const controller = source.slice(SOURCES.cgroup.length + 1);
  const directory = places.cgroup.v1Directory(controller as Parameters<SandboxCgroup["v1Directory"]>[0]);
  if (directory === undefined) throw new Error(`no hierarchy of ${controller}`);
  return directory;
}
