import type { FileHandle } from "node:fs/promises";
import { AppError, type TeamId } from "@boxyard/core";
import { BodyWriter, RecordingWriter } from "@boxyard/driver/recordings";
import { limitMet } from "../limit-met.ts";
import { READER_LIMIT_MS, whenEnded } from "../volumes/archives.ts";
import { exchangeOfEntry } from "./har-entry.ts";
import { readHar } from "./har-reader.ts";
import { writeHar } from "./har-writer.ts";
import { type NetworkRecordings, type NetworkRecordingsParts, newRecord, type RecordingLook } from "./network-recordings.ts";

export interface RecordingArchivesParts extends Pick<NetworkRecordingsParts, "files" | "clock" | "logger" | "limits"> {
  readonly recordings: NetworkRecordings;
}

export interface ImportedLook extends RecordingLook {
  readonly count: number;
  /** Entries that are no exchanges by HTTP with an answer. */
  readonly skipped: number;
}

/** Exports and imports that are under way: each reads or writes a file for as long as its client takes. */
const MAX_ARCHIVES = 8;
/** The same for imports, of which each may hold an entry and what is parsed of it. */
const MAX_IMPORTS = 2;
/** What base64 and the heads of an archive add to the bytes of a recording, at most. */
const ARCHIVE_FACTOR = 2;
const NOT_REMOVED = "a recording that was not imported whole could not be removed; the next start tries that again";
const NOT_UNMARKED = "the mark of an import could not be removed from a recording that is whole";

/** Recordings as archives of exchanges (HAR), out and in. */
export class RecordingArchives {
  private readonly parts: RecordingArchivesParts;
  private underWay = 0;
  private imports = 0;

  constructor(parts: RecordingArchivesParts) {
    this.parts = parts;
  }

  /** Bytes that an archive may have. */
  get maxBytes(): number {
    return this.parts.limits.maxBytes * ARCHIVE_FACTOR;
  }

  /** Throws `not_found`; `resource_exhausted`, reason `too_many_archives`. */
  async export(teamId: TeamId, name: string): Promise<ReadableStream<Uint8Array>> {
    const { files, clock, recordings } = this.parts;
    const record = await recordings.named(teamId, name);
    const end = this.begin();
    try {
      const file = await files.read(record.id);
      const ended = () => {
        end();
        void file.close().catch(() => {});
      };
      return whenEnded(streamOf(writeHar(file)), ended, { clock, ms: READER_LIMIT_MS });
    } catch (error) {
      end();
      throw error;
    }
  }

  /**
   * Makes a recording of an archive, or nothing. Throws `already_exists`, reason `recording_exists`; `invalid_argument`, reason `bad_har`;
   * `resource_exhausted`, reason `recording_limit_reached` or `too_many_archives`; `out_of_range`, reason `recording_too_large`.
   */
  async import(teamId: TeamId, name: string, source: AsyncIterable<Uint8Array>): Promise<ImportedLook> {
    const { files, clock, recordings, logger } = this.parts;
    await recordings.mustBeFree(teamId, name);
    const end = this.beginImport();
    const record = newRecord(teamId, name, clock.now());
    const notes = (message: string) => (err: unknown) => logger.warn({ err, recording: record.id }, message);
    try {
      let done: { count: number; skipped: number };
      try {
        const file = await files.beginImport(record.id);
        try {
          done = await this.write(file, source);
        } finally {
          await file.close();
        }
        await recordings.addNew(record);
      } catch (error) {
        await files.remove(record.id).catch(notes(NOT_REMOVED));
        throw error;
      }
      await files.endImport(record.id).catch(notes(NOT_UNMARKED));
      return { ...(await recordings.look(record)), ...done };
    } finally {
      end();
    }
  }

  private async write(file: FileHandle, source: AsyncIterable<Uint8Array>): Promise<{ count: number; skipped: number }> {
    const { files, limits } = this.parts;
    const { maxBytes, maxExchanges } = limits;
    const hasRoom = (bytes: number) => files.hasRoom(bytes);
    const writer = new RecordingWriter(file, { end: 0, exchanges: 0, maxBytes, maxExchanges, hasRoom }, () => {});
    let count = 0;
    let skipped = 0;
    for await (const entry of readHar(source)) {
      const found = exchangeOfEntry(entry);
      if (!found) {
        skipped += 1;
        continue;
      }
      const body = bodyIn(writer, found.body);
      const answer = bodyIn(writer, found.answer);
      const isKept = body !== undefined && answer !== undefined && writer.exchange({ ...found.exchange, body, answer });
      if (writer.stopped) break;
      if (isKept) count += 1;
      else skipped += 1;
      if (writer.isBehind) await writer.flush();
    }
    await writer.flush();
    if (writer.stopped === "disk") throw new AppError("resource_exhausted", "The disk takes no more", { reason: "recording_disk_full" });
    if (writer.stopped) {
      const message = `The archive has more than ${maxBytes} bytes or ${maxExchanges} exchanges, which a recording may have`;
      throw new AppError("out_of_range", message, { reason: "recording_too_large" });
    }
    return { count, skipped };
  }

  private beginImport(): () => void {
    if (this.imports >= MAX_IMPORTS) throw tooMany(MAX_IMPORTS, "imports");
    const end = this.begin();
    this.imports += 1;
    return () => {
      this.imports -= 1;
      end();
    };
  }

  private begin(): () => void {
    if (this.underWay >= MAX_ARCHIVES) throw tooMany(MAX_ARCHIVES, "exports and imports");
    this.underWay += 1;
    let isOver = false;
    return () => {
      if (!isOver) this.underWay -= 1;
      isOver = true;
    };
  }
}

const tooMany = (value: number, what: string) =>
  limitMet({
    ...{ limit: "recordingArchives", value, of: "server", reason: "too_many_archives" },
    advice: `${what} of recordings are under way; try again later`,
  });

function bodyIn(writer: RecordingWriter, content: Buffer) {
  const body = new BodyWriter(writer);
  body.push(content);
  return body.end();
}

function streamOf(pieces: AsyncGenerator<Uint8Array>): ReadableStream<Uint8Array> {
  return new ReadableStream(
    {
      async pull(controller) {
        const { done, value } = await pieces.next();
        if (done) controller.close();
        else controller.enqueue(value);
      },
      cancel: async () => void (await pieces.return(undefined)),
    },
    { highWaterMark: 0 },
  );
}
