import type { ServerState } from "@boxyard/spec/platform-types";
import { fullTime, shortTime } from "../../lib/format.ts";
import { Card } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";

const SHOWN = 5;

/** Which limits requests have met: what to raise, or whom to ask. */
export function LimitsMet({ state: { limitsMet } }: { state: ServerState }) {
  return (
    <Card title="Limits met since the start of the server">
      {limitsMet.length === 0 ? (
        <p class="muted">None: every request found room.</p>
      ) : (
        <Table
          label="Limits met"
          rows={limitsMet.slice(0, SHOWN)}
          keyOf={({ reason, limit }) => `${reason} ${limit}`}
          columns={[
            { name: "Limit", cell: ({ limit, reason }) => <span class="mono">{limit ?? reason}</span> },
            { name: "Refused", cell: ({ count }) => count.toLocaleString(), isNumber: true },
            { name: "Last", cell: ({ lastAt }) => <span title={fullTime(lastAt)}>{shortTime(lastAt)}</span>, isNumber: true },
          ]}
        />
      )}
    </Card>
  );
}
