import type { TeamId } from "@boxyard/core";
import type { Actor } from "../actor.ts";

export type EventTarget = "sandbox" | "template" | "build" | "tag" | "key";

/** Values by name; small: what is large or secret is not told. */
export type EventDetail = Readonly<Record<string, unknown>>;

/** A change, as its maker tells it. */
export interface NewEvent {
  /** `sandbox.running`, `template.removed`: the target and what it became, or what was done to it. */
  readonly action: `${EventTarget}.${string}`;
  readonly targetId: string;
  readonly teamId?: TeamId;
  /** What was there before, and what is there now, of what has changed. */
  readonly before?: EventDetail;
  readonly after?: EventDetail;
}

/** One change of the store, written with it: the change is there if and only if its event is. */
export interface StoreEvent extends NewEvent {
  /** Grows by one with each event; events become visible in this order. */
  readonly cursor: number;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly actor: Actor;
}

/** What has changed in the store, for readers that must not miss anything: logs, audit, webhooks. */
export interface EventStore {
  /** Events behind a cursor, in order. The first has the cursor `after + 1`, unless retention has forgotten that one. */
  read(after: number, limit: number): Promise<StoreEvent[]>;
  /** Calls `listener` after each commit of this process that wrote events; the returned function ends that. */
  subscribe(listener: () => void): () => void;
  /** The cursor of the newest event; 0 if there was none. */
  newest(): Promise<number>;
  /** How far a reader has come; undefined for one that has never saved. */
  cursorOf(reader: string): Promise<number | undefined>;
  /** To be called when the events up to there are dealt with: after a crash the reader gets what comes behind it again. */
  saveCursor(reader: string, cursor: number): Promise<void>;
  /** Forgets events older than `time`, and of the others all but the newest `keep`. */
  prune(time: number, keep: number): Promise<void>;
}
