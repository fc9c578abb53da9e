import { loadavg } from "node:os";
import type { Platform } from "@boxyard/testkit";
import { benches } from "./benches/index.ts";
import type { Bench } from "./lib/bench.ts";
import { machine } from "./lib/machine.ts";
import type { Done, Outcome, Page } from "./lib/page/outcome.ts";

/** All benches together end within this time. */
export const LIMIT_MS = 600_000;

interface Planned {
  /** What a run takes on the development machine while it does nothing else. */
  readonly seconds: number;
  /** In place of the bench's own. */
  readonly count?: number;
}

/** Each bench of `--all`; the others have their reason in `LEFT_OUT`. */
export const PLAN: Readonly<Record<string, Planned>> = {
  "create-warm": { seconds: 10, count: 20 },
  tti: { seconds: 25, count: 20 },
  "create-cold": { seconds: 8 },
  command: { seconds: 12 },
  agent: { seconds: 10 },
  "create-100": { seconds: 25 },
  idle: { seconds: 20, count: 100 },
  "pty-echo": { seconds: 5 },
  transfer: { seconds: 30 },
  files: { seconds: 45 },
  compose: { seconds: 15 },
  pause: { seconds: 25, count: 3 },
  proxy: { seconds: 60 },
  adopt: { seconds: 15 },
  snapshot: { seconds: 10, count: 5 },
  fork: { seconds: 15 },
  sdk: { seconds: 10 },
  "template-cached": { seconds: 15 },
  "template-run": { seconds: 15 },
  "template-unpack": { seconds: 30 },
  "start-from-memory": { seconds: 20, count: 3 },
  checkpoints: { seconds: 30 },
  volume: { seconds: 25, count: 20 },
  egress: { seconds: 30, count: 4 },
};

/** Why a bench is not in the page. */
export const LEFT_OUT: Readonly<Record<string, string>> = {
  "template-memory": "pushes and pulls gigabytes: ./boxyard bench template-memory",
  "code-interpreter": "builds its template first, for minutes: ./boxyard bench code-interpreter",
  soak: "measures for ten minutes: ./boxyard bench soak",
  "beside-attacks": "is about two loads beside each other, not about a promise: ./boxyard bench beside-attacks",
  "long-lists": "fills a store for most of a minute: ./boxyard bench long-lists",
  "network-flood": "is about what a flood of packets does to others: ./boxyard bench network-flood",
  takeover: "needs PostgreSQL and two servers, for a minute: ./boxyard bench takeover",
  scale: "makes hundreds of sandboxes for minutes: ./boxyard bench scale",
  density: "makes hundreds of sandboxes for minutes: ./boxyard bench density",
  "idle-metrics": "measures for minutes: ./boxyard bench idle-metrics",
};

interface AllOptions {
  /** Tells a person how far it is. */
  say(line: string): void;
  /** True when a signal has come: what is left is not run. */
  isOver(): boolean;
  readonly limitMs?: number;
  readonly all?: readonly Bench[];
}

/** Runs every bench that fits into the time, one after the other. One that fails keeps no other from its run. */
export async function measureAll(platform: Platform, { say, isOver, limitMs = LIMIT_MS, all = benches }: AllOptions): Promise<Page> {
  const startedAt = performance.now();
  const elapsedMs = () => performance.now() - startedAt;
  const before = load();
  const done: Done[] = [];
  let plannedMs = 0;
  for (const [at, bench] of all.entries()) {
    if (isOver()) break;
    const began = elapsedMs();
    say(`${at + 1} of ${all.length}: ${bench.name} (${Math.round(began / 1000)} s)`);
    // A busy machine takes longer than planned, and will for the next one too.
    const outcome = await outcomeOf(bench, platform, (limitMs - began) / Math.max(1, plannedMs === 0 ? 1 : began / plannedMs));
    if (!("skipped" in outcome)) plannedMs += (PLAN[bench.name]?.seconds ?? 0) * 1000;
    done.push({ name: bench.name, promises: bench.promises, seconds: Math.round((elapsedMs() - began) / 100) / 10, outcome });
  }
  const at = new Date().toISOString();
  return { version: 1, at, machine: machine(), load: { before, after: load() }, seconds: Math.round(elapsedMs() / 1000), benches: done };
}

async function outcomeOf(bench: Bench, platform: Platform, leftMs: number): Promise<Outcome> {
  const planned = PLAN[bench.name];
  if (!planned) return { skipped: LEFT_OUT[bench.name] ?? "has no place in the plan (bench/all.ts)" };
  if (planned.seconds * 1000 > leftMs) return { skipped: `no time was left: ./boxyard bench ${bench.name}` };
  try {
    return { result: await bench.run(platform, planned.count) };
  } catch (error) {
    return { failed: (error instanceof Error ? error.message : String(error)).split("\n")[0] ?? "" };
  }
}

const load = (): number => Math.round((loadavg()[0] ?? 0) * 10) / 10;
