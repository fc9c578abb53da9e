import { type Trace, WHOLE } from "./steps.ts";

const cell = (value: number | undefined): string => (value === undefined ? "" : value.toFixed(2)).padStart(10);

/** A trace as a table: time at the median and the 90th percentile, then the median of the CPU time of each party. */
export function printTrace({ what, covers, runs, of, steps }: Trace): void {
  const columns = Object.keys(covers);
  console.log(`${what} (${runs} of ${of} runs; milliseconds)`);
  console.log(`  ${"".padEnd(44)}${"p50".padStart(10)}${"p90".padStart(10)}  CPU:${columns.map((who) => who.padStart(10)).join("")}`);
  for (const { step, time, cpuMs } of steps) {
    const line = `  ${step.padEnd(44)}${cell(time.p50)}${cell(time.p90)}      ${columns.map((who) => cell(cpuMs[who])).join("")}`;
    console.log(line.trimEnd());
    if (step === WHOLE) console.log(`  ${"CPU in all".padEnd(44)}${cell(columns.reduce((sum, who) => sum + (cpuMs[who] ?? 0), 0))}`);
  }
  for (const [who, means] of Object.entries(covers)) console.log(`  ${who}: ${means}`);
}
