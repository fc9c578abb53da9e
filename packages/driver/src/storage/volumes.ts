import { AppError } from "@boxyard/core";
import type { VolumeContent } from "./volume-content.ts";

/**
 * Directories that outlive sandboxes and that many sandboxes can have at the same time.
 *
 * **Words.** A *volume* is a tree of files with a size limit of its own; it belongs to no sandbox. A *mount* shows it inside a sandbox
 * (`SandboxSpec.volumes`). The server chooses its id, 1 to 64 of `a-z`, `0-9` and `-`.
 *
 * **Life.** `create` → any number of sandboxes with a mount of it → `remove`.
 *
 * **Guarantees.**
 * - `create` makes a whole volume or none: it resolves when the volume survives a crash of the machine. Its root belongs to user 0, and everybody may write
 *   to it (mode 0777).
 * - Owners of its files are plain: what user 1000 of one sandbox writes belongs to user 1000 of each other sandbox, and of `content`. Set-user-id bits and
 *   device nodes on it have no effect in sandboxes. Of a read-only mount a sandbox can change nothing.
 * - Pause, resume, fork, snapshot and rollback of a sandbox leave its volumes as they are: a volume is never set back.
 * - A pause with memory keeps open files of a volume by their paths, and a resume opens the same paths again. A file that was deleted or replaced
 *   meanwhile makes the resume fail.
 * - `resume` needs the mounts that the sandbox had, and a start with memory (`SandboxSpec.from`) those of the snapshot's source, else
 *   `failed_precondition`, reason `volumes_differ`. A sandbox that boots from the disk of a snapshot may have others.
 * - `remove` refuses while a sandbox has it (`failed_precondition`, reason `volume_in_use`, `details.sandboxes`), paused ones too; of a `create` of a sandbox
 *   and a `remove` at the same time one fails. Snapshots do not keep it: a start that needs it is `not_found`, reason `volume_not_found`, `details.volume`.
 * - No use of it is above its limit: a write is `volume_full` (in a sandbox `EDQUOT`), and nothing else is affected. Where the disk below has no room, it is
 *   `volume_disk_full`, or `volume_full` where the driver keeps that room by lower limits.
 * - What is kept of a volume may be damaged from outside. Then every call, and every start with it, throws `data_loss`, reason `bad_volume`; `list`
 *   includes it (`damaged`), and `remove` removes it.
 *
 * **Example.**
 * ```ts
 * await driver.volumes.create("v1", { limitBytes: 1 << 30 });
 * const mounts = [{ volume: "v1", path: "/data", readOnly: false }];
 * const handle = await driver.create({ ...spec, volumes: mounts }, signal);
 * const { stream } = await driver.volumes.content.read("v1", "/result.txt", { signal });
 * await driver.destroy(handle);
 * await driver.volumes.remove("v1");
 * ```
 */
export interface VolumeStore {
  /** Throws `already_exists`, reason `volume_exists`; with `from` what `get` of that volume throws. */
  create(id: string, options: CreateVolumeOptions): Promise<VolumeInfo>;
  /** Undefined when there is none. */
  get(id: string): Promise<VolumeInfo | undefined>;
  /** Every volume, also damaged ones, in no order. */
  list(): Promise<readonly VolumeInfo[]>;
  /** Sets the limit. Throws `failed_precondition`, reason `volume_too_small`, with `details.usedBytes`, below what is in use. */
  resize(id: string, limitBytes: number): Promise<VolumeInfo>;
  /** Repeatable; succeeds when there is none. */
  remove(id: string): Promise<void>;
  /**
   * All files as a tar, uncompressed. The stream fails with `resource_exhausted`, reason `archive_too_large`, beyond `MAX_ARCHIVE_ENTRIES`, the depth of
   * `VolumeContent`'s paths, or `archiveBytesOf` of its limit; cancelling it, or aborting, ends the work.
   */
  export(id: string, signal: AbortSignal): Promise<ReadableStream<Uint8Array>>;
  readonly content: VolumeContent;
}

/** A tar of which a volume is made; gzip and zstd are recognised. */
export interface VolumeArchive {
  readonly source: ReadableStream<Uint8Array>;
  /** Aborting makes no volume and rejects with the signal's reason. */
  readonly signal: AbortSignal;
}

/** Most entries of an archive of a volume. */
export const MAX_ARCHIVE_ENTRIES = 1_000_000;

/** Most bytes of an archive of a volume with this limit: holes of files are written as zeros. */
export const archiveBytesOf = (limitBytes: number): number => Math.max(1 << 30, 4 * limitBytes);

export interface CreateVolumeOptions {
  /** Most bytes that it may hold, at least 1 MiB. */
  readonly limitBytes: number;
  /**
   * Id of a volume of which this one begins as a copy, of one moment; it shares unchanged data with it. Its use counts from the beginning; where the limit
   * is below that, `failed_precondition`, reason `volume_too_small`.
   */
  readonly from?: string | undefined;
  /**
   * What it begins with, instead of `from`. Throws `invalid_argument`, reason `bad_archive`, for what is no tar, or a hostile one; `resource_exhausted`: reason
   * `archive_too_large`, or `volume_full` above its limit. A failure cancels the stream.
   */
  readonly archive?: VolumeArchive | undefined;
}

const MIN_VOLUME_BYTES = 1 << 20;

export interface VolumeInfo {
  readonly id: string;
  readonly limitBytes: number;
  readonly usedBytes: number;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** What is kept of it cannot be read, so that the other members are 0; only in `list`. */
  readonly damaged?: true;
}

/** The entry of a damaged volume in `VolumeStore.list`. */
export const damagedVolume = (id: string): VolumeInfo => ({ id, limitBytes: 0, usedBytes: 0, createdAt: 0, damaged: true });

export const volumeNotFound = (id: string) =>
  new AppError("not_found", `There is no volume ${id} on this machine`, { reason: "volume_not_found", details: { volume: id } });

/** What is kept of it, or the disk below, cannot be read. */
export const volumeDamaged = (id: string) =>
  new AppError("data_loss", `Volume ${id} on this machine is damaged: its files cannot be used`, {
    reason: "bad_volume",
    details: { volume: id },
  });

export const volumeExists = (id: string) =>
  new AppError("already_exists", `Volume ${id} exists already`, { reason: "volume_exists", details: { volume: id } });

export const volumeInUse = (id: string, sandboxes: readonly string[]) =>
  new AppError("failed_precondition", `Volume ${id} is mounted in ${sandboxes.join(", ")}: end these sandboxes first`, {
    reason: "volume_in_use",
    details: { volume: id, sandboxes },
  });

export const volumeTooSmall = (id: string, usedBytes: number, limitBytes: number) =>
  new AppError("failed_precondition", `Volume ${id} holds ${usedBytes} bytes, more than a limit of ${limitBytes}`, {
    reason: "volume_too_small",
    details: { volume: id, usedBytes },
  });

export const volumeFull = (id: string) =>
  new AppError("resource_exhausted", `Volume ${id} is full: remove files, or give it a larger limit`, {
    reason: "volume_full",
    details: { volume: id },
  });

/** The disk below all volumes has no room, whatever the limit of this one. */
export const volumeDiskFull = (id: string) =>
  new AppError("resource_exhausted", `Volume ${id} takes no writes, because the disk of this machine is full: make room there`, {
    reason: "volume_disk_full",
    details: { volume: id },
  });

export const volumesDiffer = () =>
  new AppError("failed_precondition", "A sandbox goes on only with the volumes that it had: mount the same ones at the same paths", {
    reason: "volumes_differ",
  });

/** Throws `invalid_argument`, reason `bad_volume_limit`. */
export function checkVolumeLimit(limitBytes: number): void {
  if (Number.isSafeInteger(limitBytes) && limitBytes >= MIN_VOLUME_BYTES) return;
  throw new AppError("invalid_argument", "The limit of a volume is at least 1 MiB", { reason: "bad_volume_limit" });
}

/** The store of drivers without the capability `volumes`: it is empty. */
export function absentVolumes(driver: string): VolumeStore {
  const absent = () =>
    Promise.reject(new AppError("unimplemented", `The ${driver} driver has no volumes`, { reason: "volumes_unimplemented" }));
  return {
    ...{ create: absent, get: async () => undefined, list: async () => [], resize: absent, remove: async () => {}, export: absent },
    content: {
      ...{ stat: absent, list: absent, read: absent, write: absent },
      ...{ makeDirectory: absent, move: absent, remove: absent, update: absent },
    },
  };
}
