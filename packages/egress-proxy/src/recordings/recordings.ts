import type { RecordingUse } from "@boxyard/driver";
import { hasRoom, type IncompleteReason } from "@boxyard/driver/recordings";
import { OpenRecording, type Played } from "./open-recording.ts";
import { keyOf, type Wish } from "./recording-index.ts";

/** Longest wait for a file to be read through before its rules are in force; exchanges that come earlier are not kept. */
const READY_MS = 3000;
/** Requests of one sandbox whose turns are counted. */
const MOST_TURNS = 20_000;
/** Misses of one sandbox that are reported a second, and at once. */
const MISSES = { perSecond: 20, burst: 100 } as const;
/** Longest URL in a report: the server holds a thousand of them of each sandbox. */
const MAX_URL = 512;

/** A request that a recording does not have. */
export interface Miss {
  readonly address: string;
  readonly method: string;
  readonly url: string;
  /** It was passed on. */
  readonly isPassed: boolean;
  readonly isIncomplete: boolean;
}

export interface RecordingReports {
  onMiss(miss: Miss): void;
  /** Something is missing in the recording with this id from now on. */
  onStopped(id: string, reason: IncompleteReason): void;
}

interface User {
  readonly use: RecordingUse;
  readonly recording: OpenRecording;
  /** How often each request was asked for. */
  readonly turns: Map<string, number>;
  reports: { left: number; at: number };
  /** Bytes of bodies that wait until it is known whether their requests are passed on. */
  heldBytes: number;
}

/** The recordings that sandboxes use, by the addresses of the sandboxes. */
export class Recordings {
  private readonly users = new Map<string, User>();
  private readonly open = new Map<string, OpenRecording>();
  /** Files to which something is still written, though no sandbox uses them any more. */
  private readonly closing = new Map<string, Promise<void>>();
  private readonly reports: RecordingReports;
  private readonly now: () => number;
  private readonly reserveBytes: number | undefined;

  /** `now`: monotonic ms. `reserveBytes`: what sandboxes leave of the disk, if the operator has set that (`freeForOthers`). */
  constructor(reports: RecordingReports, now: () => number, reserveBytes?: number) {
    this.reports = reports;
    this.now = now;
    this.reserveBytes = reserveBytes;
  }

  /** What a sandbox uses from now on. Resolves when its recording can be used, or after some time. */
  async use(address: string, use: RecordingUse | undefined): Promise<void> {
    const before = this.users.get(address);
    if (before && use && Bun.deepEquals(before.use, use)) return;
    this.users.delete(address);
    if (use) {
      const recording = this.open.get(use.id) ?? this.openOne(use);
      this.users.set(address, { use, recording, turns: new Map(), reports: { left: MISSES.burst, at: this.now() }, heldBytes: 0 });
      const ready = use.mode === "record" ? recording.write() : recording.ready;
      this.closeUnused();
      await Promise.race([ready, Bun.sleep(READY_MS)]);
    } else this.closeUnused();
  }

  find(address: string): User | undefined {
    return this.users.get(address);
  }

  /** The answer to a request of a sandbox; each time that it is asked for, the next one that was recorded. */
  answer({ recording, turns }: User, wish: Wish): Promise<Played | undefined> {
    const key = keyOf(wish);
    const turn = turns.get(key) ?? 0;
    if (turns.has(key) || turns.size < MOST_TURNS) turns.set(key, turn + 1);
    return recording.find(wish, turn);
  }

  reportMiss(address: string, { use, reports }: User, { method, url, isPassed }: Pick<Miss, "method" | "url" | "isPassed">): void {
    const now = this.now();
    reports.left = Math.min(MISSES.burst, reports.left + ((now - reports.at) / 1000) * MISSES.perSecond);
    reports.at = now;
    if (reports.left < 1) return;
    reports.left -= 1;
    this.reports.onMiss({ address, method, url: url.slice(0, MAX_URL), isPassed, isIncomplete: use.isIncomplete ?? false });
  }

  /** Writes what is accepted. */
  async close(): Promise<void> {
    this.users.clear();
    this.closeUnused();
    await Promise.all(this.closing.values());
  }

  private openOne(use: RecordingUse): OpenRecording {
    const { id } = use;
    const told = new Set<IncompleteReason>();
    const onStop = (reason: IncompleteReason) => {
      if (told.has(reason)) return;
      told.add(reason);
      this.reports.onStopped(id, reason);
    };
    const path = `${id}/frames`;
    const bounds = { ...use, hasRoom: (bytes: number) => hasRoom(path, bytes, this.reserveBytes) };
    const recording = new OpenRecording(path, bounds, onStop, this.closing.get(id));
    this.open.set(id, recording);
    return recording;
  }

  private closeUnused(): void {
    const used = new Set([...this.users.values()].map(({ recording }) => recording));
    for (const [id, recording] of this.open) {
      if (used.has(recording)) continue;
      this.open.delete(id);
      const closed: Promise<void> = recording
        .close()
        .catch(() => {})
        .finally(() => {
          if (this.closing.get(id) === closed) this.closing.delete(id);
        });
      this.closing.set(id, closed);
    }
  }
}

export type RecordingUser = User;
