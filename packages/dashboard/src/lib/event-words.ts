import type { Event } from "@boxyard/spec/platform-types";
import { shortTime } from "./format.ts";

/** Kinds of targets that events have, with what people call many of them. */
export const KINDS = [
  ["sandbox", "Sandboxes"],
  ["template", "Templates"],
  ["build", "Builds"],
  ["tag", "Tags"],
  ["checkpoint", "Snapshots"],
  ["volume", "Volumes"],
  ["secret", "Secrets"],
  ["webhook", "Webhooks"],
  ["recording", "Recordings"],
  ["key", "API keys"],
  ["team", "Team"],
] as const;

/** The page of an event's target; undefined if it has none, or is gone. */
export function placeOf({ action, targetID }: Event): string | undefined {
  const [kind, change] = action.split(".");
  if (change === "removed" || change === "dead" || change === "revoked") return undefined;
  const path = encodeURIComponent(targetID);
  switch (kind) {
    case "sandbox":
      return `/sandboxes/${path}`;
    case "template":
      return `/templates/${path}`;
    case "volume":
      return `/volumes/${path}`;
    case "webhook":
      return `/webhooks/${path}`;
    case "secret":
      return "/secrets";
    case "key":
      return "/keys";
    case "team":
      return "/team";
    default:
      return undefined;
  }
}

/** How good or bad the end of an action sounds, for its colour. */
export function toneOf({ action }: Event): string {
  const change = action.split(".")[1] ?? "";
  if (["running", "ready", "created", "assigned", "committed"].includes(change)) return "good";
  if (["error", "unresponsive", "expiring", "incomplete"].includes(change)) return "bad";
  if (["paused", "waiting"].includes(change)) return "warm";
  return "";
}

const MOST_CHARACTERS = 60;

/** A value; times, which events have in milliseconds since 1970, in the zone of the person who reads it. */
function textOf(name: string, value: unknown): string {
  if (typeof value === "number" && /At$/.test(name)) return shortTime(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return text.length > MOST_CHARACTERS ? `${text.slice(0, MOST_CHARACTERS)}…` : text;
}

/** Members that say nothing to a person: every sandbox in the list is of the same kind of owner. */
const SILENT = new Set(["owner", "incarnation"]);

/** What has changed, in one line: `state running → paused, reason timeout`. */
export function changesOf({ before = {}, after = {} }: Event): string {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].filter((name) => !SILENT.has(name));
  return names
    .map((name) => {
      const [old, now] = [before[name], after[name]];
      if (old === undefined) return `${name} ${textOf(name, now)}`;
      return `${name} ${textOf(name, old)} → ${now === undefined ? "none" : textOf(name, now)}`;
    })
    .join(", ");
}
