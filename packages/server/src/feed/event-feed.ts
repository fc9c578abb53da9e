import type { Clock, TeamId } from "@boxyard/core";
import { limitMet } from "../limit-met.ts";
import type { EventFilter, EventStore, StoreEvent } from "../store/index.ts";

export interface EventFeedParts {
  readonly events: EventStore;
  readonly clock: Clock;
}

/** Where a page of events begins; without a cursor at the oldest or at the newest. */
interface Page {
  readonly order: "asc" | "desc";
  readonly cursor?: number | undefined;
}

/** Live streams of one team, and of all teams: each has a timer and a place among the clients' connections. */
const MAX_STREAMS_OF_TEAM = 20;
const MAX_STREAMS = 100;
/** Events that one look of a stream reads. */
const BATCH = 100;
/** A stream in which nothing happens says so as often, so that proxies keep it open. */
const SILENCE_MS = 15_000;
/** Events within this time after an event are read together with it. */
const GATHER_MS = 200;

/** The events of teams, for clients: pages, and live streams. Each stream has a cursor of its own, and reads only when its client takes more. */
export class EventFeed {
  private readonly parts: EventFeedParts;
  private readonly streams = new Map<TeamId, number>();
  private count = 0;

  constructor(parts: EventFeedParts) {
    this.parts = parts;
  }

  /** Events of a team: after a cursor with the oldest first, or before a cursor with the newest first. */
  page(teamId: TeamId, { order, cursor }: Page, limit: number, filter: EventFilter): Promise<StoreEvent[]> {
    const { events } = this.parts;
    if (order === "asc") return events.readOf(teamId, cursor ?? 0, limit, filter);
    return events.readBackOf(teamId, cursor ?? Number.MAX_SAFE_INTEGER, limit, filter);
  }

  /**
   * A live stream of a team's events from a cursor on, or of those that come from now on; `write` makes the text of one. Ends with `signal`. Throws
   * `resource_exhausted`, reason `too_many_streams`.
   */
  async stream(
    teamId: TeamId,
    { after, filter, signal }: { readonly after: number | undefined; readonly filter: EventFilter; readonly signal: AbortSignal },
    write: (event: StoreEvent) => string,
  ): Promise<ReadableStream<Uint8Array>> {
    const release = this.take(teamId);
    try {
      const { events, clock } = this.parts;
      let cursor = after ?? (await events.newest());
      const wake = new Wake(events, clock, signal);
      const end = () => {
        wake.close();
        release();
      };
      signal.addEventListener("abort", end, { once: true });
      const encoder = new TextEncoder();
      return new ReadableStream<Uint8Array>(
        {
          start: (controller) => controller.enqueue(encoder.encode(": events\n\n")),
          pull: async (controller) => {
            for (;;) {
              // Before the look, so that no commit is missed between the look and the wait.
              const next = wake.next();
              const newest = await events.newest();
              const some = await events.readOf(teamId, cursor, BATCH, filter);
              const last = some.at(-1);
              if (last) {
                cursor = last.cursor;
                return controller.enqueue(encoder.encode(some.map(write).join("")));
              }
              // What was there is of other teams, or not asked for.
              cursor = Math.max(cursor, newest);
              const why = await next;
              if (why === "ended") return controller.close();
              if (why === "silence") return controller.enqueue(encoder.encode(": nothing new\n\n"));
              await clock.sleep(GATHER_MS, signal).catch(() => {});
            }
          },
          cancel: end,
        },
        { highWaterMark: 0 },
      );
    } catch (error) {
      release();
      throw error;
    }
  }

  /** Takes a place for a stream; the returned function gives it back, once. */
  private take(teamId: TeamId): () => void {
    const own = this.streams.get(teamId) ?? 0;
    const met = { limit: "eventStreams", reason: "too_many_streams", retryAfter: 5 } as const;
    if (own >= MAX_STREAMS_OF_TEAM) throw limitMet({ ...met, value: MAX_STREAMS_OF_TEAM, advice: "end some" });
    if (this.count >= MAX_STREAMS) throw limitMet({ ...met, of: "server", value: MAX_STREAMS, advice: "try again later" });
    this.count++;
    this.streams.set(teamId, own + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      this.count--;
      const left = (this.streams.get(teamId) ?? 1) - 1;
      if (left > 0) this.streams.set(teamId, left);
      else this.streams.delete(teamId);
    };
  }
}

/** Tells a stream when to look again. */
class Wake {
  private readonly clock: Clock;
  private readonly signal: AbortSignal;
  private readonly closed = new AbortController();
  private readonly unsubscribe: () => void;
  private waiting: ((why: "commit" | "ended") => void) | undefined;

  constructor(events: EventStore, clock: Clock, signal: AbortSignal) {
    this.clock = clock;
    this.signal = signal;
    this.unsubscribe = events.subscribe(() => this.waiting?.("commit"));
  }

  /** Resolves at the next commit with events, after a time of silence, or at the end. */
  next(): Promise<"commit" | "silence" | "ended"> {
    if (this.signal.aborted || this.closed.signal.aborted) return Promise.resolve("ended");
    const timer = new AbortController();
    const woken = new Promise<"commit" | "ended">((resolve) => {
      this.waiting = resolve;
    });
    const over = AbortSignal.any([timer.signal, this.closed.signal]);
    const silence = this.clock.sleep(SILENCE_MS, over).then(
      () => "silence" as const,
      () => "ended" as const,
    );
    return Promise.race([woken, silence]).finally(() => timer.abort());
  }

  close(): void {
    this.unsubscribe();
    this.closed.abort();
    this.waiting?.("ended");
  }
}
