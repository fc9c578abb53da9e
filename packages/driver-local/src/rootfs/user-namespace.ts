import { writeFileSync } from "node:fs";
import { ChildProgram } from "../sys/child.ts";
import { CLONE, close, O, open } from "../sys/libc.ts";
import { RANGE_SIZE } from "./uid-ranges.ts";

/**
 * A descriptor of a user namespace that maps ids 0 to 65,535 to `base` and up: what an idmapped mount takes its mapping from. Held by a
 * child for a moment (0.2 ms), then by the descriptor alone, which the caller closes.
 */
const openUserNamespace = (base: number): number => openMapping(`0 ${base} ${RANGE_SIZE}`);

/**
 * The same for a volume whose owners are of the range at `from`, for a sandbox of the range at `to`. Root of the machine stays itself: overlay
 * makes its own directories as root.
 */
const openVolumeMapping = (from: number, to: number): number => openMapping(`0 0 1\n${from} ${to} ${RANGE_SIZE}`);

/** What the mounts of a sandbox's root file system take their mappings from. */
export interface Mappings {
  readonly userNsFd: number;
  readonly volumeNsFd?: number;
}

/** For one sandbox; the caller closes them. */
export function openMappings({ uidBase, diskUidBase = uidBase }: { readonly uidBase: number; readonly diskUidBase?: number }): Mappings {
  const userNsFd = openUserNamespace(uidBase);
  if (diskUidBase === uidBase) return { userNsFd };
  try {
    return { userNsFd, volumeNsFd: openVolumeMapping(diskUidBase, uidBase) };
  } catch (error) {
    close(userNsFd);
    throw error;
  }
}

export function closeMappings({ userNsFd, volumeNsFd }: Mappings): void {
  close(userNsFd);
  if (volumeNsFd !== undefined) close(volumeNsFd);
}

function openMapping(lines: string): number {
  const holder = ChildProgram.hold(CLONE.NEWUSER);
  try {
    for (const map of ["uid_map", "gid_map"]) writeFileSync(`/proc/${holder.pid}/${map}`, lines);
    return open(`/proc/${holder.pid}/ns/user`, O.RDONLY);
  } finally {
    holder.release();
  }
}
