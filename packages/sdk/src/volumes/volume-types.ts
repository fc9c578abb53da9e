import type * as wire from "@boxyard/spec/platform-types";
import { text, unchecked } from "../connection/unchecked.ts";
import { BoxyardError } from "../errors.ts";

/** A volume. Sizes: the volume holds at most `sizeMB` MiB. */
export interface VolumeInfo {
  readonly volumeId: string;
  readonly name: string;
  readonly sizeMB: number;
  /** Bytes that its files take. Undefined if the server cannot read them, because the volume is damaged. */
  readonly usedBytes: number | undefined;
  /** Only `info` returns it. */
  readonly createdAt?: Date;
}

/** A file, directory or link in a volume. */
export interface VolumeEntry {
  readonly name: string;
  /** From the root of the volume, with a leading `/`. */
  readonly path: string;
  /** `unknown`: a FIFO, a socket or the like. */
  readonly type: "file" | "directory" | "symlink" | "unknown";
  /** In bytes. */
  readonly size: number;
  /** Permission bits, e.g. `0o644`. */
  readonly mode: number;
  readonly uid: number;
  readonly gid: number;
  readonly modifiedTime: Date;
  /** What a link holds. */
  readonly target?: string;
}

/** Owner and permissions of a file, as sandboxes see them. The user `user` of the standard templates is 1000. */
export interface VolumeAttributes {
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  readonly mode?: number | undefined;
}

/** A volume by its name, or an object that has it, such as a `Volume`. */
export type VolumeRef = string | { readonly name: string };

/** How a sandbox has a volume. */
export interface VolumeMountOptions {
  readonly volume: VolumeRef;
  /** True: the sandbox can change nothing of it. Default false. */
  readonly readOnly?: boolean | undefined;
}

/**
 * Volumes of a sandbox, by the absolute paths at which it has them. Those of a template (`mountVolumes`) are looked up by name when a sandbox is created, whose
 * own `volumes` at the same paths replace them. Templates that are built on that one do not inherit them.
 */
export type VolumeMounts = Readonly<Record<string, VolumeRef | VolumeMountOptions>>;

/** A volume of a sandbox. */
export interface MountedVolume {
  readonly name: string;
  readonly path: string;
  readonly readOnly: boolean;
}

const nameOf = (volume: VolumeRef): string => (typeof volume === "string" ? volume : volume.name);

/** The mounts as a create sends them. */
export function mountsToJson(mounts: VolumeMounts) {
  return Object.entries(mounts).map(([path, mount]) => {
    const { volume, readOnly } = typeof mount === "string" || !("volume" in mount) ? { volume: mount, readOnly: undefined } : mount;
    return { name: nameOf(volume), path, ...(readOnly === undefined ? {} : { readOnly }) } satisfies wire.SandboxVolumeMount;
  });
}

export function mountFromJson(value: unknown): MountedVolume {
  const json = unchecked<wire.SandboxVolumeMount>(value);
  return { name: String(json.name), path: String(json.path), readOnly: json.readOnly === true };
}

export function volumeFromJson(value: unknown): VolumeInfo {
  const json = unchecked<wire.VolumeDetail>(value);
  const volumeId = text(json.volumeID);
  if (volumeId === undefined) {
    const message = "the server's answer has no volumeID; is there a Boxyard server at this URL?";
    throw new BoxyardError(message, { code: "internal", reason: "protocol_error" });
  }
  const createdAt = text(json.createdAt);
  return {
    volumeId,
    name: String(json.name),
    sizeMB: Number(json.sizeMB),
    usedBytes: typeof json.usedBytes === "number" ? json.usedBytes : undefined,
    ...(createdAt === undefined ? {} : { createdAt: new Date(createdAt) }),
  };
}

const TYPES = ["file", "directory", "symlink"] as const;

/** An entry of `/volumecontent` (docs/contract/platform.md, Volumes). */
export function volumeEntryFromJson(value: unknown): VolumeEntry {
  const json = unchecked<Record<"name" | "path" | "type" | "size" | "mode" | "uid" | "gid" | "mtime" | "target", unknown>>(value);
  const target = text(json.target);
  return {
    name: String(json.name),
    path: String(json.path),
    type: TYPES.find((type) => type === json.type) ?? "unknown",
    size: Number(json.size),
    mode: Number(json.mode),
    uid: Number(json.uid),
    gid: Number(json.gid),
    modifiedTime: new Date(String(json.mtime)),
    ...(target === undefined ? {} : { target }),
  };
}
