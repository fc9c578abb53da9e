import type { Event } from "@boxyard/spec/platform-types";
import { changesOf, placeOf, toneOf } from "../../lib/event-words.ts";
import { clockTime, fullTime, shortTime } from "../../lib/format.ts";
import { IconButton } from "../../ui/button.tsx";
import { Link } from "../../ui/link.tsx";
import type { VirtualColumn } from "../../ui/virtual-table.tsx";

/** The name of a key by its id, if it is known. */
export type NameOfKey = (id: string) => string | undefined;

const DAY_MS = 86_400_000;

/** The columns of the list of events. */
export function columnsOf(nameOf: NameOfKey, onShow: (event: Event) => void): VirtualColumn<Event>[] {
  return [
    { name: "Time", cell: ({ timestamp }) => <span title={fullTime(timestamp)}>{timeOf(timestamp)}</span> },
    { name: "Event", cell: (event) => <span class={`badge ${toneOf(event)}`}>{event.action}</span> },
    { name: "Target", cell: (event) => <Target of={event} /> },
    { name: "Change", cell: (event) => <span class="muted">{changesOf(event)}</span> },
    { name: "By", cell: (event) => whoOf(event, nameOf) },
    { name: "Actions", cell: (event) => <IconButton icon="more" label={`Details of ${event.action}`} onPress={() => onShow(event)} /> },
  ];
}

const timeOf = (timestamp: string) => (Date.now() - Date.parse(timestamp) < DAY_MS / 2 ? clockTime(timestamp) : shortTime(timestamp));

export function Target({ of }: { of: Event }) {
  const place = placeOf(of);
  if (place === undefined) return <span class="mono">{of.targetID}</span>;
  return (
    <Link to={place} class="mono">
      {of.targetID}
    </Link>
  );
}

/** Who has done it. */
export function whoOf({ actor: { kind, keyID } }: Event, nameOf: NameOfKey): string {
  if (kind === "server") return "the server";
  if (kind === "admin") return "the operator";
  return (keyID !== undefined && nameOf(keyID)) || "a key";
}
