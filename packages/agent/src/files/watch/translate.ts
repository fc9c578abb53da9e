import type { EventType } from "@boxyard/spec/agent";
import { IN } from "../sys/inotify.ts";

/** What happened to a name, in the words of the wire. */
export type Change = Exclude<EventType, "EVENT_TYPE_UNSPECIFIED">;

/** In the order in which one record of the kernel is told. */
const ORDER: readonly (readonly [number, Change])[] = [
  [IN.CREATE | IN.MOVED_TO, "EVENT_TYPE_CREATE"],
  [IN.MOVED_FROM | IN.MOVE_SELF, "EVENT_TYPE_RENAME"],
  [IN.ATTRIB, "EVENT_TYPE_CHMOD"],
  [IN.MODIFY, "EVENT_TYPE_WRITE"],
  [IN.DELETE | IN.DELETE_SELF, "EVENT_TYPE_REMOVE"],
];

/** By mask; there are few. */
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
 * What is told when one of our own temporary files takes its place: what a program that writes the file directly would have caused, since
 * clients wait for that.
 */
export function changesOfReplacement(kind: "new" | "old", isDir: boolean): readonly Change[] {
  if (isDir) return ["EVENT_TYPE_CREATE"];
  return kind === "new" ? ["EVENT_TYPE_CREATE", "EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"] : ["EVENT_TYPE_CHMOD", "EVENT_TYPE_WRITE"];
}
