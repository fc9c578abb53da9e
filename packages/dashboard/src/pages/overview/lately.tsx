import type { Event, ListedSandbox } from "@boxyard/spec/platform-types";
import type { ComponentChildren } from "preact";
import { toneOf } from "../../lib/event-words.ts";
import { duration } from "../../lib/format.ts";
import { useNow } from "../../lib/now.ts";
import { useResource } from "../../lib/resource.ts";
import { events } from "../../lib/team-api.ts";
import { Link } from "../../ui/link.tsx";
import { Card } from "../../ui/page.tsx";
import { Badge, Loaded } from "../../ui/state.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { Target } from "../events/columns.tsx";

const SHOWN = 6;

export function Newest({ list }: { list: readonly ListedSandbox[] }) {
  const now = useNow(5000);
  const newest = [...list].sort((a, b) => b.startedAt.localeCompare(a.startedAt)).slice(0, SHOWN);
  return (
    <Lines
      title="Newest sandboxes"
      actions={<Link to="/sandboxes">{`All ${list.length.toLocaleString()}`}</Link>}
      rows={newest}
      columns={[
        {
          name: "Sandbox",
          cell: ({ sandboxID }) => (
            <Link to={`/sandboxes/${sandboxID}`} class="mono">
              {sandboxID}
            </Link>
          ),
        },
        { name: "State", cell: ({ state }) => <Badge state={state} /> },
        { name: "Started", cell: ({ startedAt }) => `${duration(now - Date.parse(startedAt))} ago`, isNumber: true },
      ]}
    />
  );
}

export function LastEvents() {
  const now = useNow(5000);
  const last = useResource("last events", async (signal) => (await events.newest({}, SHOWN, undefined, signal)).events, 3000);
  return (
    <Loaded from={last}>
      {(list) => (
        <Lines<Event>
          title="Last events"
          actions={<Link to="/events">All</Link>}
          rows={list}
          columns={[
            { name: "Event", cell: (event) => <span class={`badge ${toneOf(event)}`}>{event.action}</span> },
            { name: "Target", cell: (event) => <Target of={event} />, wideOnly: true },
            { name: "When", cell: ({ timestamp }) => `${duration(now - Date.parse(timestamp))} ago`, isNumber: true },
          ]}
        />
      )}
    </Loaded>
  );
}

interface LinesProps<T> {
  readonly title: string;
  readonly actions: ComponentChildren;
  readonly rows: readonly T[];
  readonly columns: readonly Column<T>[];
}

interface Line<T> {
  readonly place: number;
  readonly row: T | undefined;
}

/** A table of as many lines at any time: what is new takes the place of what was there, and nothing moves. */
function Lines<T>({ title, actions, rows, columns }: LinesProps<T>) {
  const lines = Array.from({ length: SHOWN }, (_, place): Line<T> => ({ place, row: rows[place] }));
  return (
    <Card title={title} actions={actions}>
      <Table<Line<T>>
        label={title}
        steady="id"
        rows={lines}
        keyOf={({ place }) => String(place)}
        columns={columns.map((column) => ({ ...column, cell: ({ row }) => (row === undefined ? "" : column.cell(row)) }))}
      />
    </Card>
  );
}
