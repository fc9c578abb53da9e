import type { ListedSandbox } from "@boxyard/spec/platform-types";
import { duration, fullTime, megabytes } from "../../lib/format.ts";
import { Link } from "../../ui/link.tsx";
import { Badge } from "../../ui/state.tsx";
import type { VirtualColumn } from "../../ui/virtual-table.tsx";

const SHOWN_PAIRS = 2;

/** The columns of the list of sandboxes, at a time. */
export function columnsOf(now: number): VirtualColumn<ListedSandbox>[] {
  return [
    {
      name: "Sandbox",
      by: ({ sandboxID, name }) => name ?? sandboxID,
      cell: ({ sandboxID, name }) => (
        <Link to={`/sandboxes/${sandboxID}`} class={name === undefined ? "mono strong" : "strong"} title={sandboxID}>
          {name ?? sandboxID}
        </Link>
      ),
    },
    { name: "State", by: ({ state }) => state, cell: ({ state }) => <Badge state={state} /> },
    { name: "Template", by: ({ alias, templateID }) => alias ?? templateID, cell: ({ alias, templateID }) => alias ?? templateID },
    { name: "Metadata", cell: ({ metadata }) => <Pairs metadata={metadata ?? {}} /> },
    {
      name: "Size",
      by: ({ memoryMB }) => memoryMB,
      cell: ({ cpuCount, memoryMB }) => <span class="muted">{`${cpuCount} CPU · ${megabytes(memoryMB)}`}</span>,
    },
    {
      name: "Started",
      by: ({ startedAt }) => startedAt,
      cell: ({ startedAt }) => <span title={fullTime(startedAt)}>{duration(now - Date.parse(startedAt))} ago</span>,
    },
    {
      name: "Ends",
      by: ({ endAt, state }) => (state === "paused" ? "" : endAt),
      cell: ({ endAt, state }) =>
        state === "paused" ? <span class="muted">kept</span> : <span title={fullTime(endAt)}>in {duration(Date.parse(endAt) - now)}</span>,
    },
  ];
}

function Pairs({ metadata }: { metadata: Readonly<Record<string, string>> }) {
  const pairs = Object.entries(metadata);
  return (
    <span class="pairs" title={pairs.map(([key, value]) => `${key}=${value}`).join("\n")}>
      {pairs.slice(0, SHOWN_PAIRS).map(([key, value]) => (
        <span key={key} class="chip">{`${key}=${value}`}</span>
      ))}
      {pairs.length > SHOWN_PAIRS && <span class="muted">+{pairs.length - SHOWN_PAIRS}</span>}
    </span>
  );
}
