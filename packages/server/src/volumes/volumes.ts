import { randomUUID } from "node:crypto";
import { AppError, atPoint, type Clock, isAppError, SerialQueues, type StepObserver, type TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { archiveBytesOf, type SandboxDriver, type VolumeArchive, type VolumeInfo } from "@boxyard/driver";
import { limitMet } from "../limit-met.ts";
import type { Store, VolumeRecord } from "../store/index.ts";
import { ArchiveCount, READER_LIMIT_MS, whenEnded } from "./archives.ts";
import { withVolumeName } from "./naming.ts";

export interface VolumesParts {
  readonly store: Store;
  readonly driver: SandboxDriver;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Size of a volume for which none is asked. */
  readonly defaultMB: number;
  readonly observer?: StepObserver;
}

/** The points of what happens to a volume, for observers, in order. */
export const VOLUME_POINTS = {
  create: ["volume intent", "volume files", "volume ready"],
  resize: ["volume limit", "volume size"],
  remove: ["volume deleting", "volume removal", "volume forgotten"],
} as const;
type VolumePoint = (typeof VOLUME_POINTS)[keyof typeof VOLUME_POINTS][number];

export interface NewVolume {
  readonly name: string;
  readonly sizeMB?: number | undefined;
  /** Name of the volume of which it begins as a copy. */
  readonly from?: string | undefined;
  /** What it begins with, instead of `from`. */
  readonly archive?: VolumeArchive | undefined;
}

export interface VolumeUse extends VolumeRecord {
  /** Absent where the driver cannot read it. */
  readonly usedBytes?: number;
}

/** Limit of the volumes of one team. */
const MAX_VOLUMES = 1000;
const MIB = 2 ** 20;

/**
 * A team's volumes. The driver keeps their files, and a row of the store says that there is one: the row comes first and goes last, so that what the
 * driver has without a ready row can be removed. Volumes of other teams are `not_found`.
 */
export class Volumes {
  private readonly parts: VolumesParts;
  /** By id: one removal or resize of a volume at a time. */
  private readonly changes = new SerialQueues<string>();

  private readonly archives = new ArchiveCount();

  constructor(parts: VolumesParts) {
    this.parts = parts;
  }

  /**
   * Makes a volume, or leaves nothing. Throws `invalid_argument`, reason `volume_name_taken` or `size_too_large`; `not_found` for an unknown `from`;
   * `resource_exhausted`; `unimplemented`, reason `volumes_unimplemented`.
   */
  async create(teamId: TeamId, { name, sizeMB, from, archive }: NewVolume, id: string = randomUUID()): Promise<VolumeRecord> {
    const { store, driver, clock, defaultMB } = this.parts;
    this.mustHave();
    await checkVolumeSize(driver, sizeMB);
    const source = from === undefined ? undefined : await this.named(teamId, from);
    if (from !== undefined && !source) throw notFound(from);
    if ((await this.ofTeam(teamId)).length >= MAX_VOLUMES) {
      throw limitMet({ limit: "volumes", value: MAX_VOLUMES, reason: "too_many_team_volumes", advice: "delete some" });
    }
    const sizeBytes = sizeMB === undefined ? (source?.sizeBytes ?? defaultMB * MIB) : sizeMB * MIB;
    const record = { id, teamId, name, state: "creating" as const, sizeBytes, createdAt: clock.now() };
    if (!(await this.at("volume intent", () => store.volumes.add(record)))) {
      throw new AppError("invalid_argument", `name: there is a volume '${name}' already: use it, or choose another name`, {
        reason: "volume_name_taken",
      });
    }
    try {
      const options = { limitBytes: sizeBytes, archive, ...(source && { from: source.id }) };
      await this.at("volume files", () => driver.volumes.create(record.id, options));
      await this.at("volume ready", () => store.volumes.setState(record.id, "creating", "ready"));
    } catch (error) {
      // What this cannot undo is removed at the next start.
      await this.forget(record).catch((undo: unknown) => this.parts.logger.warn({ err: undo, volume: record.id }, NOT_REMOVED));
      throw tooSmall(withVolumeName(error, [record, ...(source ? [source] : [])]), source?.name ?? name);
    }
    return { ...record, state: "ready" };
  }

  /** A ready volume. Throws `not_found`. */
  async get(teamId: TeamId, id: string): Promise<VolumeRecord> {
    const record = await this.parts.store.volumes.find(id);
    if (record?.teamId !== teamId || record.state !== "ready") throw notFound(id);
    return record;
  }

  /** Throws `not_found` when there is no ready volume of this id, of whatever team: for callers with the volume's token. */
  async find(id: string): Promise<VolumeRecord> {
    const record = await this.parts.store.volumes.find(id);
    if (record?.state !== "ready") throw notFound(id);
    return record;
  }

  /** The ready volume of this name. */
  async named(teamId: TeamId, name: string): Promise<VolumeRecord | undefined> {
    const record = await this.parts.store.volumes.findNamed(teamId, name);
    return record?.state === "ready" ? record : undefined;
  }

  /** The team's ready volumes, oldest first. */
  async list(teamId: TeamId): Promise<VolumeUse[]> {
    const records = (await this.ofTeam(teamId)).filter(({ state }) => state === "ready");
    if (records.length === 0) return [];
    const infos = new Map((await this.parts.driver.volumes.list()).map((info) => [info.id, info]));
    return records.map((record) => {
      const info = infos.get(record.id);
      return withUse(record, info?.damaged ? undefined : info);
    });
  }

  /** The team's ready volume of this id or name, with its use. Throws `not_found`. */
  async look(teamId: TeamId, key: string): Promise<VolumeUse> {
    const record = await this.ofKey(teamId, key);
    // A damaged volume has no figures.
    const info = await this.parts.driver.volumes.get(record.id).catch((error: unknown) => {
      if (!isAppError(error, "bad_volume")) throw error;
      return undefined;
    });
    return withUse(record, info);
  }

  /**
   * Sets the size of the team's volume of this id or name. Throws `not_found`; `failed_precondition`, reason `volume_too_small`, with what is in use;
   * `invalid_argument`, reason `size_too_large`.
   */
  async resize(teamId: TeamId, key: string, sizeMB: number): Promise<VolumeUse> {
    const { id } = await this.ofKey(teamId, key);
    await checkVolumeSize(this.parts.driver, sizeMB);
    return this.changes.run(id, async () => {
      const record = await this.find(id);
      const info = await this.at("volume limit", () => this.parts.driver.volumes.resize(id, sizeMB * MIB)).catch((error: unknown) => {
        throw tooSmall(withVolumeName(error, [record]), record.name);
      });
      await this.at("volume size", () => this.parts.store.volumes.setSize(id, info.limitBytes));
      return withUse(record, info);
    });
  }

  /** The tar of the team's volume of this id or name. Throws `not_found`; `resource_exhausted`, reason `too_many_archives`. */
  async export(
    teamId: TeamId,
    key: string,
    signal: AbortSignal,
  ): Promise<{ readonly name: string; readonly tar: ReadableStream<Uint8Array> }> {
    const record = await this.ofKey(teamId, key);
    const { id, name } = record;
    const end = this.archives.begin();
    try {
      return {
        name,
        tar: whenEnded(await this.parts.driver.volumes.export(id, signal), end, { clock: this.parts.clock, ms: READER_LIMIT_MS }),
      };
    } catch (error) {
      end();
      throw withVolumeName(error, [record]);
    }
  }

  /** Makes a volume of a tar, as `create` does. */
  async import(teamId: TeamId, wanted: NewVolume & { readonly archive: VolumeArchive }): Promise<VolumeUse> {
    const end = this.archives.begin();
    try {
      return await this.look(teamId, (await this.create(teamId, wanted)).id);
    } finally {
      end();
    }
  }

  /** Bytes that the archive of a new volume may have. */
  archiveBytes(sizeMB: number = this.parts.defaultMB): number {
    return archiveBytesOf(sizeMB * MIB);
  }

  private async ofKey(teamId: TeamId, key: string): Promise<VolumeRecord> {
    const found = await this.parts.store.volumes.find(key);
    const record = found?.teamId === teamId && found.state === "ready" ? found : await this.named(teamId, key);
    if (!record) throw notFound(key);
    return record;
  }

  /**
   * Removes a volume with its files. Throws `not_found`; `failed_precondition`, reason `volume_in_use`, while a sandbox has it. Where the driver
   * fails otherwise, the call can be repeated, and the next start goes on with it.
   */
  remove(teamId: TeamId, id: string): Promise<void> {
    return this.changes.run(id, async () => {
      const { store } = this.parts;
      const record = await store.volumes.find(id);
      if (record?.teamId !== teamId || record.state === "creating") throw notFound(id);
      // From here on no sandbox gets it: the driver refuses the removal, or the create of a sandbox that has looked it up already.
      if (record.state === "ready") await this.at("volume deleting", () => store.volumes.setState(id, "ready", "deleting"));
      await this.forget(record);
    });
  }

  /** Ends what a server has left half made or half removed. Volumes that the store does not know stay as they are, and the log names them. */
  async recover(): Promise<void> {
    const { store, driver, logger } = this.parts;
    if (!driver.capabilities.volumes) return;
    try {
      const records = await store.volumes.list();
      for (const record of records.filter(({ state }) => state !== "ready")) {
        await this.forget(record).catch((error: unknown) => logger.warn({ err: error, volume: record.id }, NOT_REMOVED));
      }
      const known = new Set(records.map(({ id }) => id));
      const infos = await driver.volumes.list();
      const unknown = infos.map(({ id }) => id).filter((id) => !known.has(id));
      // A server that ends in the middle of a resize leaves the row behind.
      for (const { id, limitBytes, damaged } of infos) if (!damaged) await store.volumes.setSize(id, limitBytes);
      if (unknown.length > 0)
        logger.warn({ volumes: unknown.slice(0, 20), count: unknown.length }, "the store does not know these volumes");
    } catch (error) {
      // The other operations do not need it.
      logger.error({ err: error }, "the volumes could not be looked through; the next start does that again");
    }
  }

  /** Throws `unimplemented` when this server's driver has no volumes. */
  mustHave(): void {
    if (this.parts.driver.capabilities.volumes) return;
    throw new AppError("unimplemented", "This server has no volumes", { reason: "volumes_unimplemented" });
  }

  private async ofTeam(teamId: TeamId): Promise<VolumeRecord[]> {
    return (await this.parts.store.volumes.list()).filter((record) => record.teamId === teamId);
  }

  /** Removes the files, then the row. A volume that a sandbox has is ready again. */
  private async forget({ id, name }: VolumeRecord): Promise<void> {
    const { store, driver } = this.parts;
    try {
      await this.at("volume removal", () => driver.volumes.remove(id));
    } catch (error) {
      if (!isAppError(error, "volume_in_use")) throw error;
      await store.volumes.setState(id, "deleting", "ready");
      const { sandboxes } = error.details as { readonly sandboxes: readonly string[] };
      throw new AppError("failed_precondition", `Volume '${name}' is mounted in ${sandboxes.join(", ")}: end these sandboxes first`, {
        reason: "volume_in_use",
        details: { volume: id, sandboxes },
        cause: error,
      });
    }
    await this.at("volume forgotten", () => store.volumes.remove(id));
  }

  private at<T>(point: VolumePoint, work: () => Promise<T>): Promise<T> {
    return atPoint(this.parts.observer, point, work);
  }
}

const NOT_REMOVED = "a volume that is not whole could not be removed; the next start tries that again";

const withUse = (record: VolumeRecord, info: VolumeInfo | undefined): VolumeUse =>
  info ? { ...record, sizeBytes: info.limitBytes, usedBytes: info.usedBytes } : record;

/** Throws `invalid_argument`, reason `size_too_large`, with both figures, for a size beyond the disk of all volumes: it could never be used. */
async function checkVolumeSize(driver: Pick<SandboxDriver, "capacity">, sizeMB: number | undefined): Promise<void> {
  if (sizeMB === undefined) return;
  const most = Math.floor((await driver.capacity()).diskLimitBytes / MIB);
  if (sizeMB <= most) return;
  throw new AppError("invalid_argument", `sizeMB: ${sizeMB} is more than the ${most} MiB that this machine's storage has`, {
    reason: "size_too_large",
    details: { wanted: sizeMB, most },
  });
}

/** Names the volume and the figure in the driver's refusal of a size. */
function tooSmall(error: unknown, name: string): unknown {
  if (!isAppError(error, "volume_too_small")) return error;
  const { usedBytes } = error.details as { readonly usedBytes: number };
  const message = `sizeMB: volume '${name}' holds ${usedBytes} bytes: ask for at least ${Math.ceil(usedBytes / MIB)} MiB, or remove files`;
  return new AppError("failed_precondition", message, { reason: "volume_too_small", details: { usedBytes }, cause: error });
}

const notFound = (id: string) => new AppError("not_found", `There is no volume '${id.slice(0, 200)}'`, { reason: "volume_not_found" });
