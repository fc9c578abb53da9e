import type { TeamId } from "@boxyard/core";
import type { LifecycleType } from "@boxyard/spec/platform";
import type { Actor } from "../actor.ts";

export type EventTarget =
  | "sandbox"
  | "template"
  | "build"
  | "tag"
  | "key"
  | "team"
  | "volume"
  | "checkpoint"
  | "secret"
  | "webhook"
  | "recording";

/** Values by name. Secrets are left out; of large values only the names are there (`changed`). */
export type EventDetail = Readonly<Record<string, unknown>>;

/** A change, as the method that makes it describes it. */
export interface NewEvent {
  /** The target, and its new state or what was done to it: `sandbox.running`, `template.removed`. */
  readonly action: `${EventTarget}.${string}`;
  readonly targetId: string;
  readonly teamId?: TeamId;
  /** The old and the new values of what has changed, where they are known. */
  readonly before?: EventDetail;
  readonly after?: EventDetail;
  /** What it is in the life of a user's sandbox. */
  readonly life?: LifecycleType | undefined;
}

/** One change of the store. The event is written in the transaction of the change, so the store has both or none. */
export interface StoreEvent extends Omit<NewEvent, "life"> {
  /** Grows by one with each event. Events become visible in this order, without gaps. */
  readonly cursor: number;
  /** Wall time in milliseconds. */
  readonly at: number;
  readonly actor: Actor;
}

/** Which events of a team are asked for. */
export interface EventFilter {
  /** An action, or the kind of a target: all of its actions. */
  readonly action?: string;
  readonly targetId?: string;
}

/** A part of the events of sandboxes' lives. */
export interface LivesQuery {
  readonly offset: number;
  readonly limit: number;
  readonly oldestFirst: boolean;
  /** All by default. */
  readonly types?: readonly LifecycleType[] | undefined;
  /** One sandbox alone. */
  readonly targetId?: string | undefined;
}

/** The changes of the store, for readers that must not miss one: logs, audit, webhooks. */
export interface EventStore {
  /** Events after a cursor, in order. The first has the cursor `after + 1`, unless retention has removed that event. */
  read(after: number, limit: number): Promise<StoreEvent[]>;
  /** Events of a team after a cursor, in order. */
  readOf(teamId: TeamId, after: number, limit: number, filter?: EventFilter): Promise<StoreEvent[]>;
  /** Events of a team before a cursor, newest first. */
  readBackOf(teamId: TeamId, before: number, limit: number, filter?: EventFilter): Promise<StoreEvent[]>;
  /** Events of the lives of a team's sandboxes, as long as the store has the sandboxes' records. */
  livesOf(teamId: TeamId, query: LivesQuery): Promise<StoreEvent[]>;
  /** Writes events of what changes nothing in the store. */
  note(events: readonly NewEvent[]): Promise<void>;
  /** Calls `listener` after each commit of this process that wrote events, with their actions; the returned function ends that. */
  subscribe(listener: (actions: readonly string[]) => void): () => void;
  /** The cursor of the newest event; 0 if there was none. */
  newest(): Promise<number>;
  /** How far a reader has come; undefined for one that has never saved. */
  cursorOf(reader: string): Promise<number | undefined>;
  /** To be called when the reader has handled the events up to `cursor`. After a crash the reader gets the later events again. */
  saveCursor(reader: string, cursor: number): Promise<void>;
  /** Removes events older than `time` (milliseconds since 1970), and all but the newest `keep`; at most 10,000 with one call. */
  prune(time: number, keep: number): Promise<void>;
}
