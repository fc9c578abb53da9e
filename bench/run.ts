/*
 * Runs the benches of SPECIFICATION.md: `./boxyard bench [--list] [--json] [--trace] [NAME…]`.
 * They run on the test platform (`./boxyard test platform` sets it up). The exit code is 1 when a promise was not kept.
 */
import { bootPlatform } from "@boxyard/testkit";
import { benches } from "./benches/index.ts";
import type { BenchResult } from "./lib/bench.ts";
import { machine } from "./lib/machine.ts";

async function main(argv: readonly string[]): Promise<number> {
  const json = argv.includes("--json");
  const names = argv.filter((word) => !word.startsWith("-"));
  const unknown = names.find((name) => !benches.some((bench) => bench.name === name));
  if (unknown) {
    console.error(`No bench is named ${unknown}; there are: ${benches.map((bench) => bench.name).join(", ")}`);
    return 2;
  }
  if (argv.includes("--list")) {
    for (const bench of benches) console.log(`${bench.name.padEnd(12)} promise ${bench.promises.join(", ").padEnd(5)} ${bench.what}`);
    return 0;
  }
  const results: Record<string, BenchResult> = {};
  // With `--trace` the server logs each step of the driver too, which costs a little of what is measured.
  await using platform = await bootPlatform({ env: argv.includes("--trace") ? { BOXYARD_LOG_LEVEL: "debug" } : {} });
  for (const bench of benches.filter(({ name }) => names.length === 0 || names.includes(name))) {
    const result = await bench.run(platform);
    results[bench.name] = result;
    if (!json) print(bench.name, result);
  }
  if (json) console.log(JSON.stringify({ version: 1, at: new Date().toISOString(), machine: machine(), results }, null, 2));
  return Object.values(results).every((result) => result.verdicts.every((verdict) => verdict.kept)) ? 0 : 1;
}

function print(name: string, { series, verdicts, notes }: BenchResult): void {
  console.log(name);
  for (const [what, summary] of Object.entries(series)) {
    console.log(`  ${what.padEnd(36)} p50 ${summary.p50} ms   p90 ${summary.p90} ms   p99 ${summary.p99} ms   (${summary.samples})`);
  }
  for (const verdict of verdicts) console.log(`  ${verdict.kept ? "✓" : "✗"} ${verdict.promise}: ${verdict.measured}`);
  for (const note of notes) console.log(`  note: ${note}`);
}

main(process.argv.slice(2)).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  },
);
