import type { EventType } from "@boxyard/spec/agent";
import { IN } from "../sys/inotify.ts";

/** Type of an event, as the wire names it. */
export type Change = Exclude<EventType, "EVENT_TYPE_UNSPECIFIED">;

/** Bits of inotify and their events, in the order in which the events of one record are reported. */
const ORDER: readonly (readonly [number, Change])[] = [
  [IN.CREATE | IN.MOVED_TO, "EVENT_TYPE_CREATE"],
  [IN.MOVED_FROM | IN.MOVE_SELF, "EVENT_TYPE_RENAME"],
  [IN.ATTRIB, "EVENT_TYPE_CHMOD"],
  [IN.MODIFY, "EVENT_TYPE_WRITE"],
  [IN.DELETE | IN.DELETE_SELF, "EVENT_TYPE_REMOVE"],
];

/** Events by mask. There are few different masks. */
const known = new Map<number, readonly Change[]>();

export function changesOf(mask: number): readonly Change[] {
  let changes = known.get(mask);
  if (!changes) {
    changes = ORDER.filter(([bits]) => mask & bits).map(([, change]) => change);
    known.set(mask, changes);
  }
  return changes;
}

/**
 * The events of a temporary file's rename to its destination: those that a program which writes the file directly would cause, because clients
 * expect these.
 */
export function changesOfReplacement(kind: "new" | "old", isDir: boolean): readonly Change[] {
  if (isDir) return ["EVENT_TYPE_CREATE"];
  return kind === "new" ? ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"] : ["EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"];
}
