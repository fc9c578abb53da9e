/*
 * Runs the benches of SPECIFICATION.md: `./boxyard bench [--all] [--list] [--json] [--trace] [--count N] [NAME…]`.
 * They run on the test platform, which is as before afterwards, also after a signal. The exit code is 1 when a promise was not kept. With `--trace` no
 * promise is measured; instead it is shown, step by step, where time and CPU go.
 */
import { parseArgs } from "node:util";
import { bootPlatform, type Platform } from "@boxyard/testkit";
import { measureAll } from "./all.ts";
import { benches, UNMEASURED } from "./benches/index.ts";
import type { Bench, BenchResult } from "./lib/bench.ts";
import { endOnSignal, type SignalWatch } from "./lib/end-on-signal.ts";
import { machine } from "./lib/machine.ts";
import { OwnPlatform } from "./lib/own-platform.ts";
import type { Page } from "./lib/page/outcome.ts";
import { printedTable } from "./lib/page/table.ts";
import { printTrace } from "./lib/trace/print.ts";
import type { Trace } from "./lib/trace/steps.ts";
import { publish } from "./publish.ts";

const HELP = `Usage: ./boxyard bench [options] [NAME…]

Measure what SPECIFICATION.md promises, on the test platform, which is set up where it is not, and then removed at the end. The exit code is 1 when a
promise was not kept.

Options:
  --all       every promise, in ten minutes at most: a table, with the reason where one could not be measured
  --publish   with --all: write the figures to docs/bench and docs/performance.md
  --list      the benches, and what each measures
  --json      the figures as JSON
  --count N   number of sandboxes, rounds or seconds, for benches whose text in --list names --count
  --trace     where time and CPU of a create and of a command go, step by step, instead of promises
  -h, --help  show help

Examples:
  $ ./boxyard bench --all
  $ ./boxyard bench create-cold
  $ ./boxyard bench create-100 --count 50 --json`;

interface Options {
  readonly json: boolean;
  readonly publish: boolean;
  readonly trace: boolean;
  readonly count: number | undefined;
}

async function main(argv: readonly string[]): Promise<number> {
  const { values, positionals: names } = parseArgs({
    args: [...argv],
    allowPositionals: true,
    options: {
      help: { type: "boolean", short: "h" },
      list: { type: "boolean" },
      all: { type: "boolean" },
      publish: { type: "boolean" },
      json: { type: "boolean" },
      trace: { type: "boolean" },
      count: { type: "string" },
    },
  });
  if (values.help) {
    console.log(HELP);
    return 0;
  }
  const { json = false, trace = false, publish = false } = values;
  const options = { json, trace, publish, count: countOf(values.count) };
  const unknown = names.find((name) => !benches.some((bench) => bench.name === name));
  if (unknown) {
    console.error(`No bench is named ${unknown}; there are: ${benches.map((bench) => bench.name).join(", ")}`);
    return 2;
  }
  if (values.list) {
    list();
    return 0;
  }
  const chosen = benches.filter(({ name, trace }) => (names.length === 0 || names.includes(name)) && (trace || !options.trace));
  if (chosen.length === 0) {
    const traced = benches.filter(({ trace }) => trace).map(({ name }) => name);
    console.error(`${names.join(", ")} cannot be traced; benches that can: ${traced.join(", ")}`);
    return 2;
  }
  const own = new OwnPlatform();
  try {
    return await measure(own, chosen, options, values.all ?? false);
  } finally {
    await own.restore();
  }
}

/** Progress goes to people, not into the figures. */
const say = (line: string): void => {
  if (process.stderr.isTTY) console.error(line);
};

async function measure(own: OwnPlatform, chosen: readonly Bench[], options: Options, isAll: boolean): Promise<number> {
  // Benches of creates measure cold ones, and nothing is made beside what is measured; `create-warm` switches the pool on for itself.
  // At the level `trace` the server measures and logs every step of a create.
  const env = { BOXYARD_WARM_SANDBOXES: "0", ...(options.trace && { BOXYARD_LOG_LEVEL: "trace" }) };
  const booting = own.setUp(say).then(() => bootPlatform({ env }));
  signalled = endOnSignal(booting);
  await using platform = await booting;
  if (isAll) return await measurePage(platform, options);
  return options.trace ? await traceAll(chosen, platform, options) : await runAll(chosen, platform, options);
}

async function measurePage(platform: Platform, { json, publish: isPublished }: Options): Promise<number> {
  const page = await measureAll(platform, { say, isOver: () => signalled?.hasCome() ?? false });
  console.log(json ? JSON.stringify(page, null, 2) : printedTable(page));
  if (isPublished) for (const path of publish(page)) say(`written: ${path}`);
  return isKept(page) ? 0 : 1;
}

const isKept = ({ benches: all }: Page): boolean =>
  all.every(({ outcome }) => !("failed" in outcome) && (!("result" in outcome) || outcome.result.verdicts.every(({ kept }) => kept)));

function countOf(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1) throw new RangeError(`--count must be a whole number of at least 1, not '${text}'`);
  return count;
}

function list(): void {
  for (const { name, promises, what } of benches) console.log(`${name.padEnd(18)} promise ${promises.join(", ").padEnd(5)} ${what}`);
  for (const [promise, why] of Object.entries(UNMEASURED)) console.log(`${"-".padEnd(18)} promise ${promise.padEnd(5)} ${why}`);
}

async function runAll(chosen: readonly Bench[], platform: Platform, { json, count }: Options): Promise<number> {
  const results: Record<string, BenchResult> = {};
  for (const bench of chosen) {
    const result = await bench.run(platform, count);
    results[bench.name] = result;
    if (!json) print(bench.name, result);
  }
  if (json) report({ results });
  return Object.values(results).every((result) => result.verdicts.every((verdict) => verdict.kept)) ? 0 : 1;
}

async function traceAll(chosen: readonly Bench[], platform: Platform, { json, count }: Options): Promise<number> {
  const traces: Record<string, readonly Trace[]> = {};
  for (const bench of chosen) {
    const found = (await bench.trace?.(platform, count)) ?? [];
    traces[bench.name] = found;
    if (!json) found.forEach(printTrace);
  }
  if (json) report({ traces });
  return 0;
}

function report(found: object): void {
  console.log(JSON.stringify({ version: 1, at: new Date().toISOString(), machine: machine(), ...found }, null, 2));
}

function print(name: string, { series, verdicts, notes }: BenchResult): void {
  console.log(name);
  for (const [what, summary] of Object.entries(series)) {
    const unit = summary.unit ?? "ms";
    const values = (["p50", "p90", "p99"] as const).map((key) => `${key} ${summary[key]} ${unit}`);
    console.log(`  ${what.padEnd(50)} ${values.join("   ")}   (${summary.samples})`);
  }
  for (const verdict of verdicts) console.log(`  ${verdict.kept ? "✓" : "✗"} ${verdict.promise}: ${verdict.measured}`);
  for (const note of notes) console.log(`  note: ${note}`);
}

/** A signal stops the server, and so ends the bench. */
let signalled: SignalWatch | undefined;

main(process.argv.slice(2)).then(
  async (code) => process.exit((await signalled?.exitCode()) ?? code),
  async (error: unknown) => {
    const code = await signalled?.exitCode();
    if (code === undefined) console.error(error instanceof Error ? error.message : error);
    // What a failed start has left running must not keep the bench from ending.
    process.exit(code ?? 1);
  },
);
