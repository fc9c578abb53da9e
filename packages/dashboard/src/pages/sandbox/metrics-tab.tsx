import type { SandboxDetail, SandboxMetric } from "@boxyard/spec/platform-types";
import { useEffect, useRef, useState } from "preact/hooks";
import type { Chart } from "../../heavy/chart.ts";
import { sandbox } from "../../lib/api.ts";
import { bytes } from "../../lib/format.ts";
import { useResource } from "../../lib/resource.ts";
import { isDark } from "../../lib/theme.ts";
import { Choice } from "../../ui/field.tsx";
import { Card } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/state.tsx";

const RANGES = [
  ["300", "5 minutes"],
  ["3600", "1 hour"],
  ["86400", "24 hours"],
] as const;

interface Panel {
  readonly title: string;
  readonly value: (sample: SandboxMetric) => number;
  readonly limit: (sample: SandboxMetric) => number;
  readonly format: (value: number) => string;
  readonly color: readonly [light: string, dark: string];
}

const PANELS: readonly Panel[] = [
  {
    title: "CPU",
    value: ({ cpuUsedPct }) => cpuUsedPct,
    limit: () => 100,
    format: (value) => `${Math.round(value)} %`,
    color: ["#0d7a6f", "#5cc9ba"],
  },
  { title: "Memory", value: ({ memUsed }) => memUsed, limit: ({ memTotal }) => memTotal, format: bytes, color: ["#3b63c4", "#8fb0f5"] },
  { title: "Disk", value: ({ diskUsed }) => diskUsed, limit: ({ diskTotal }) => diskTotal, format: bytes, color: ["#9a5b13", "#dba968"] },
];

export function MetricsTab({ detail }: { detail: SandboxDetail }) {
  const { sandboxID: id } = detail;
  const [range, setRange] = useState<string>(RANGES[0][0]);
  const read = async (signal: AbortSignal) => {
    const end = Math.ceil(Date.now() / 1000);
    return sandbox.metrics(id, end - Number(range), end, signal);
  };
  const samples = useResource(`metrics ${id} ${range}`, read, 5000);
  return (
    <div class="stack">
      <div class="filters one">
        <Choice label="Time" value={range} onChange={setRange} options={RANGES} />
      </div>
      <Loaded from={samples}>
        {(list) =>
          list.length === 0 ? (
            <Empty icon="clock" title="There are no samples of this time">
              <p>The server takes one every few seconds while the sandbox runs. The first one comes soon.</p>
            </Empty>
          ) : (
            <div class="charts">
              {PANELS.map((panel) => (
                <ChartCard key={panel.title} panel={panel} samples={list} />
              ))}
            </div>
          )
        }
      </Loaded>
    </div>
  );
}

function ChartCard({ panel, samples }: { panel: Panel; samples: readonly SandboxMetric[] }) {
  const { title, value, limit, format, color } = panel;
  const element = useRef<HTMLDivElement>(null);
  const chart = useRef<Chart | undefined>(undefined);
  const last = samples.at(-1);
  const dark = isDark();
  const options = {
    times: samples.map(({ timestampUnix }) => timestampUnix),
    lines: [
      { name: title, values: samples.map(value), color: color[dark ? 1 : 0] },
      { name: "Limit", values: samples.map(limit), color: dark ? "#8a94a0" : "#7b8794", isLimit: true },
    ],
    format,
    isBytes: format === bytes,
    colors: dark ? { text: "#98a3af", grid: "#29313a" } : { text: "#5b6570", grid: "#e6e8ea" },
  };
  useEffect(() => {
    let isOver = false;
    void import("../../heavy/chart.ts").then(({ openChart }) => {
      if (!isOver && element.current) chart.current = openChart(element.current, options);
    });
    return () => {
      isOver = true;
      chart.current?.dispose();
      chart.current = undefined;
    };
  }, [dark]);
  useEffect(() => chart.current?.update(options), [samples]);
  const words = last ? `${format(value(last))} of ${format(limit(last))}` : "";
  return (
    <Card title={title} actions={<span class="chart-now">{words}</span>}>
      <div ref={element} class="chart" role="img" aria-label={`${title} over time; now ${words}`} />
    </Card>
  );
}
