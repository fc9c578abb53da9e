import { randomBytes } from "node:crypto";
import type { FileHandle } from "node:fs/promises";
import { AppError, type Clock, SerialQueues, type TeamId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import { CLOSED_RECORDING, type RecordingUse } from "@boxyard/driver";
import { type RecordedExchange, readRecording } from "@boxyard/driver/recordings";
import { limitMet } from "../limit-met.ts";
import type { RecordingRecord, RecordingSetting, SandboxRecord, Store } from "../store/index.ts";
import type { RecordingFiles } from "./recording-files.ts";

export interface RecordingLimits {
  /** Of each team. */
  readonly most: number;
  readonly maxBytes: number;
  readonly maxExchanges: number;
}

export interface NetworkRecordingsParts {
  readonly store: Pick<Store, "recordings">;
  readonly files: RecordingFiles;
  readonly sandboxes: { ofUsers(): readonly { readonly record: SandboxRecord }[] };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly limits: RecordingLimits;
}

/** A recording with what its file shows. */
export interface RecordingLook extends RecordingRecord {
  readonly bytes: number;
  /** Milliseconds since 1970, when something was kept last. */
  readonly changedAt: number;
}

export interface RecordingContent extends RecordingLook {
  readonly count: number;
  /** The newest, oldest first. */
  readonly exchanges: readonly ExchangeLook[];
}

/** An exchange without its heads and bodies. */
export interface ExchangeLook extends Pick<RecordedExchange, "at" | "tookMs" | "method" | "url" | "status"> {
  /** Of the answer. */
  readonly bytes: number;
}

/**
 * The recordings of exchanges by HTTP, by team and name. A row of the store says that there is one, and its file has the exchanges, which the egress proxy
 * writes and reads. Recordings of other teams are `not_found`.
 */
export class NetworkRecordings {
  private readonly parts: NetworkRecordingsParts;
  /** By team: recordings of one name are made and removed one after the other. */
  private readonly changes = new SerialQueues<string>();
  /** What the store could not be told yet. */
  private readonly stopped = new Map<string, string>();

  constructor(parts: NetworkRecordingsParts) {
    this.parts = parts;
  }

  /**
   * What the driver is told about a sandbox's recording, which a sandbox that keeps its exchanges makes when it is not there. Without one that it needs, nothing is
   * answered and nothing leaves the sandbox. Throws `resource_exhausted`, reason `recording_limit_reached`.
   */
  async use(teamId: TeamId, setting: RecordingSetting): Promise<RecordingUse> {
    const { maxBytes, maxExchanges } = this.parts.limits;
    const bounds = { maxBytes, maxExchanges };
    if ("record" in setting) return { id: (await this.ensure(teamId, setting.record)).id, mode: "record", ...bounds };
    const found = await this.parts.store.recordings.find(teamId, setting.replay);
    if (!found) return CLOSED_RECORDING;
    const isIncomplete = found.incomplete !== undefined || this.stopped.has(found.id);
    return {
      id: found.id,
      mode: "replay",
      ...bounds,
      ...(setting.onMiss === "pass" && { passes: true }),
      ...(isIncomplete && { isIncomplete }),
    };
  }

  /** Throws `invalid_argument`, reason `recording_not_found`, and what `use` throws. */
  async check(teamId: TeamId, setting: RecordingSetting): Promise<void> {
    if ("record" in setting) await this.ensure(teamId, setting.record);
    else if (!(await this.parts.store.recordings.find(teamId, setting.replay)))
      throw new AppError("invalid_argument", `network.replay: there is no recording '${setting.replay}'`, {
        reason: "recording_not_found",
      });
  }

  /** Oldest first. */
  async list(teamId: TeamId): Promise<RecordingLook[]> {
    return Promise.all((await this.parts.store.recordings.list(teamId)).map((record) => this.look(record)));
  }

  /** Of all teams, for the rules of retention. */
  async listAll(): Promise<(RecordingLook & { readonly isInUse: boolean })[]> {
    const all = await Promise.all((await this.parts.store.recordings.list()).map((record) => this.look(record)));
    return all.map((one) => ({ ...one, isInUse: this.usersOf(one).length > 0 }));
  }

  /** With its newest exchanges. Throws `not_found`. */
  async get(teamId: TeamId, name: string, limit: number): Promise<RecordingContent> {
    const record = await this.look(await this.named(teamId, name));
    const exchanges: ExchangeLook[] = [];
    let count = 0;
    let { incomplete } = record;
    await this.reading(record, async (file) => {
      for await (const one of readRecording(file)) {
        if (one.kind === "stopped") {
          incomplete ??= one.reason;
          continue;
        }
        count += 1;
        const { at, tookMs, method, url, status, answer } = one.exchange;
        exchanges.push({ at, tookMs, method, url, status, bytes: answer.bytes });
        if (exchanges.length > limit) exchanges.shift();
      }
    });
    return { ...record, ...(incomplete !== undefined && { incomplete }), count, exchanges };
  }

  /** Throws `not_found`; `failed_precondition`, reason `recording_in_use`, while a sandbox uses it, also a paused one. */
  remove(teamId: TeamId, name: string): Promise<void> {
    return this.changes.run(teamId, async () => {
      const { store, files } = this.parts;
      const record = await this.named(teamId, name);
      const sandboxes = this.usersOf(record);
      if (sandboxes.length > 0) {
        const message = `Recording '${name}' is used by ${sandboxes.slice(0, 10).join(", ")}: end these sandboxes first, or change their network`;
        throw new AppError("failed_precondition", message, { reason: "recording_in_use", details: { sandboxes } });
      }
      // The files first: without its row nobody would remove them.
      await files.remove(record.id);
      await store.recordings.remove(record.id);
    });
  }

  /** Takes what the driver tells: something is missing in these recordings. What the store cannot keep now is tried again with the next call. */
  async noteStopped(stopped: ReadonlyMap<string, string> | undefined): Promise<void> {
    for (const [id, reason] of stopped ?? []) {
      this.parts.logger.warn({ recording: id, reason }, "a recording lacks something from now on; its sandboxes go on");
      // Of two reasons the one that stopped it counts.
      if (reason !== "protocol" || !this.stopped.has(id)) this.stopped.set(id, reason);
    }
    for (const [id, reason] of this.stopped) {
      await this.parts.store.recordings.markIncomplete(id, reason);
      this.stopped.delete(id);
    }
  }

  /** Removes what an import has left half made. Files without a row stay, and the log names them: the store may be the wrong one. */
  async recover(): Promise<void> {
    const { store, files, logger } = this.parts;
    try {
      const known = new Set((await store.recordings.list()).map(({ id }) => id));
      const unknown = (await files.list()).filter(({ id }) => !known.has(id));
      for (const { id, isWhole } of unknown) if (!isWhole) await files.remove(id);
      const left = unknown.filter(({ isWhole }) => isWhole).map(({ id }) => id);
      if (left.length > 0) logger.warn({ recordings: left.slice(0, 20), count: left.length }, "the store does not know these recordings");
    } catch (error) {
      logger.error({ err: error }, "the recordings could not be looked through; the next start does that again");
    }
  }

  private ensure(teamId: TeamId, name: string): Promise<RecordingRecord> {
    return this.changes.run(teamId, async () => {
      const { store, files, clock } = this.parts;
      const found = await store.recordings.find(teamId, name);
      if (found) {
        await files.make(found.id);
        return found;
      }
      const record = newRecord(teamId, name, clock.now());
      await files.make(record.id);
      try {
        await this.add(record);
      } catch (error) {
        await files.remove(record.id);
        throw error;
      }
      return record;
    });
  }

  /** Throws `already_exists`, reason `recording_exists`. */
  async mustBeFree(teamId: TeamId, name: string): Promise<void> {
    if (await this.parts.store.recordings.find(teamId, name)) throw nameTaken(name);
  }

  /** Adds the row of a recording whose files are there. Throws `already_exists`, reason `recording_exists`, and `resource_exhausted`. */
  addNew(record: RecordingRecord): Promise<void> {
    // Not between the look for a name and the making of it for a sandbox.
    return this.changes.run(record.teamId, () => this.add(record));
  }

  private async add(record: RecordingRecord): Promise<void> {
    const { store, limits } = this.parts;
    const outcome = await store.recordings.add(record, limits.most);
    if (outcome === "name_taken") throw nameTaken(record.name);
    if (outcome === "too_many")
      throw limitMet({ limit: "BOXYARD_RECORDINGS", value: limits.most, reason: "recording_limit_reached", advice: "delete some" });
  }

  /** Throws `not_found`. */
  async named(teamId: TeamId, name: string): Promise<RecordingRecord> {
    const found = await this.parts.store.recordings.find(teamId, name);
    if (!found) throw new AppError("not_found", `There is no recording '${name.slice(0, 128)}'`, { reason: "recording_not_found" });
    return found;
  }

  /** With what its file shows. */
  async look(record: RecordingRecord): Promise<RecordingLook> {
    const found = await this.parts.files.look(record.id);
    const incomplete = record.incomplete ?? this.stopped.get(record.id);
    return {
      ...record,
      ...(incomplete !== undefined && { incomplete }),
      bytes: found?.bytes ?? 0,
      changedAt: Math.max(record.createdAt, Math.round(found?.changedAt ?? 0)),
    };
  }

  private async reading(record: RecordingRecord, work: (file: FileHandle) => Promise<void>): Promise<void> {
    const file = await this.parts.files.read(record.id).catch(() => undefined);
    if (!file) return;
    try {
      await work(file);
    } finally {
      await file.close();
    }
  }

  /** Ids of the team's sandboxes that use a recording, paused ones too. */
  private usersOf({ teamId, name }: RecordingRecord): string[] {
    return this.parts.sandboxes
      .ofUsers()
      .filter(({ record }) => record.teamId === teamId && recordingNamed(record.settings.recording) === name)
      .map(({ record }) => record.id);
  }
}

/** A recording that is not there yet. */
export const newRecord = (teamId: TeamId, name: string, createdAt: number): RecordingRecord => ({
  ...{ id: randomBytes(16).toString("hex"), teamId, name, createdAt },
});

const recordingNamed = (setting: RecordingSetting | undefined): string | undefined =>
  setting && ("record" in setting ? setting.record : setting.replay);

const nameTaken = (name: string) =>
  new AppError("already_exists", `name: there is a recording '${name}' already`, { reason: "recording_exists" });
