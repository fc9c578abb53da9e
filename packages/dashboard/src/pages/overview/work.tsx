import type { ServerState } from "@boxyard/spec/platform-types";
import { milliseconds } from "../../lib/format.ts";
import { Card } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";

/** Changes that always have a row, so that the table keeps its height. */
const SHOWN = ["create", "resume", "pause", "snapshot", "kill"];
const BAR = { width: 10, gap: 2, height: 72 };

export function Work({ state: { createsPerMinute, latencies } }: { state: ServerState }) {
  const rows = SHOWN.map(
    (change) => latencies.find((one) => one.change === change) ?? { change, count: 0, failed: 0, p50Ms: 0, p95Ms: 0, p99Ms: 0 },
  );
  const time = (count: number, ms: number) => (count === 0 ? <span class="muted">–</span> : milliseconds(ms));
  return (
    <Card title="Creates in the last hour">
      <Bars counts={createsPerMinute} />
      <Table
        label="Times of changes in the last 15 minutes"
        steady="name"
        rows={rows}
        keyOf={({ change }) => change}
        columns={[
          { name: "Last 15 min", cell: ({ change }) => change },
          { name: "Made", cell: ({ count }) => count.toLocaleString(), isNumber: true },
          {
            name: "Failed",
            cell: ({ failed }) => <span class={failed > 0 ? "bad-text" : ""}>{failed.toLocaleString()}</span>,
            isNumber: true,
            wideOnly: true,
          },
          { name: "p50", cell: ({ count, p50Ms }) => time(count, p50Ms), isNumber: true },
          { name: "p95", cell: ({ count, p95Ms }) => time(count, p95Ms), isNumber: true },
          { name: "p99", cell: ({ count, p99Ms }) => time(count, p99Ms), isNumber: true },
        ]}
      />
    </Card>
  );
}

/** A bar for each minute, the newest at the right. */
function Bars({ counts }: { counts: readonly number[] }) {
  const most = Math.max(1, ...counts);
  const sum = counts.reduce((total, count) => total + count, 0);
  const width = counts.length * BAR.width;
  return (
    <div class="bars">
      <svg
        viewBox={`0 0 ${width} ${BAR.height}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={`Creates in each minute of the last hour: ${sum} in all, ${Math.max(0, ...counts)} in the fullest minute`}
      >
        {counts.map((count, i) => {
          const height = Math.max(1.5, (count / most) * BAR.height);
          return (
            <rect
              key={i}
              class={count === 0 ? "none" : ""}
              x={i * BAR.width}
              y={BAR.height - height}
              width={BAR.width - BAR.gap}
              height={height}
            />
          );
        })}
      </svg>
      <div class="bars-foot muted">
        <span>an hour ago</span>
        <span class="steady">{`at most ${Math.max(0, ...counts).toLocaleString()} a minute`}</span>
        <span>now</span>
      </div>
    </div>
  );
}
