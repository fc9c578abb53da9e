import { AppError } from "@boxyard/core";

/** A volume that a sandbox sees as a directory. */
export interface VolumeMount {
  /** Id of the volume. */
  readonly volume: string;
  /** Absolute path inside, as `checkVolumeMounts` allows. What the image has at or below it is hidden. */
  readonly path: string;
  readonly readOnly: boolean;
}

/** Most volumes of one sandbox. */
const MAX_VOLUME_MOUNTS = 32;

const MAX_PATH_BYTES = 1_024;
const VOLUME_ID = /^[a-z0-9-]{1,64}$/;
/** Directories of the kernel's file systems and of the platform itself. */
const RESERVED = ["/proc", "/sys", "/dev", "/.boxyard"] as const;
/** The runtime takes every path that begins like this for one of its own. */
const RESERVED_START = "/run";

export const isVolumeId = (id: string): boolean => VOLUME_ID.test(id);

const isAtOrBelow = (path: string, directory: string): boolean => path === directory || path.startsWith(`${directory}/`);

/**
 * True for an absolute path without empty, `.` and `..` parts and without control characters, at most 1,024 bytes long, that is neither `/` nor in a
 * directory that the platform needs.
 */
export function isMountPath(path: string): boolean {
  const parts = path.split("/").slice(1);
  return (
    path.startsWith("/") &&
    Buffer.byteLength(path) <= MAX_PATH_BYTES &&
    parts.every((part) => part !== "" && part !== "." && part !== "..") &&
    !/\p{Cc}/u.test(path) &&
    !path.startsWith(RESERVED_START) &&
    !RESERVED.some((directory) => isAtOrBelow(path, directory))
  );
}

/**
 * Checks the mounts of a spec. Throws `invalid_argument` with `details.path`: reason `too_many_volumes`, `bad_volume_id`, `bad_mount_path`, or
 * `mount_paths_overlap` for a path at or below another one.
 */
export function checkVolumeMounts(mounts: readonly VolumeMount[] = []): void {
  if (mounts.length > MAX_VOLUME_MOUNTS) {
    throw new AppError("invalid_argument", `A sandbox has at most ${MAX_VOLUME_MOUNTS} volumes`, { reason: "too_many_volumes" });
  }
  for (const [i, { volume, path }] of mounts.entries()) {
    if (!isVolumeId(volume)) throw bad("bad_volume_id", "The id of a volume is malformed", path);
    if (!isMountPath(path)) {
      const message = `No volume can be mounted at ${JSON.stringify(path)}: use an absolute path without '..', outside /proc, /sys, /dev and /.boxyard, that does not begin with /run`;
      throw bad("bad_mount_path", message, path);
    }
    const other = mounts.find((mount, j) => j !== i && isAtOrBelow(path, mount.path));
    if (other)
      throw bad("mount_paths_overlap", `Two volumes cannot be mounted at ${path} and at ${other.path}: use separate directories`, path);
  }
}

const bad = (reason: string, message: string, path: string) => new AppError("invalid_argument", message, { reason, details: { path } });

/** Whether both lists mount the same volumes at the same paths in the same way, in any order. */
export function sameVolumeMounts(a: readonly VolumeMount[] = [], b: readonly VolumeMount[] = []): boolean {
  const texts = (mounts: readonly VolumeMount[]) =>
    mounts.map(({ volume, path, readOnly }) => JSON.stringify([volume, path, readOnly])).sort();
  return JSON.stringify(texts(a)) === JSON.stringify(texts(b));
}
