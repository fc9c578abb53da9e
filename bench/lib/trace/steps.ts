import { type CpuMs, used } from "@boxyard/core";
import { type Summary, summarize } from "../stats.ts";

/** A moment, and the CPU time that each party had used by then. */
export interface Reading {
  /** Milliseconds since 1970, with fractions. */
  readonly at: number;
  readonly cpuMs: CpuMs;
}

/** A step of one run. */
export interface TracedStep {
  readonly step: string;
  readonly ms: number;
  readonly cpuMs: CpuMs;
}

/** The same step in all runs. */
export interface TraceRow {
  readonly step: string;
  readonly time: Summary;
  /** Medians, by party. */
  readonly cpuMs: CpuMs;
}

/** Where the time and the CPU time of one action go, step by step. */
export interface Trace {
  readonly what: string;
  /** What the figures of each column count. */
  readonly covers: Readonly<Record<string, string>>;
  /** How many runs are summed up, of how many. */
  readonly runs: number;
  readonly of: number;
  /** In order; the last is the whole. */
  readonly steps: readonly TraceRow[];
}

export const WHOLE = "the whole";
export const OUTSIDE = "outside of these: SDK, HTTP, gaps";

/** A step as the server logs it. */
export interface LoggedStep {
  readonly by: "driver" | "server";
  readonly step: string;
  readonly startedAt: number;
  readonly ms: number;
  readonly cpuMs: CpuMs;
}

/** Steps of the server that consist of steps of the driver. */
const COMPOSED = ["server create", "server start"];
/** The step in which the agent works while the driver takes no readings. */
const AGENT_WORKS = "server init";

/**
 * The steps of one create, then what no step counts (the client's work, requests and answers), then the whole as the caller measured it.
 * What the sandbox's processes did after the driver's last step is counted to `init`, in which the agent works.
 */
export function assembleCreate(logged: readonly LoggedStep[], begin: Reading, end: Reading): TracedStep[] {
  const all = logged.map((event) => ({ ...event, step: `${event.by} ${event.step}` }));
  const steps = all.filter(({ step }) => !COMPOSED.includes(step)).sort((a, b) => a.startedAt - b.startedAt);
  const seen = used(begin.cpuMs, end.cpuMs);
  const sum = (who: string) => steps.reduce((total, { cpuMs }) => total + (cpuMs[who] ?? 0), 0);
  // A step's difference holds the cost of its first reading; the second costs as much.
  const tracing = 2 * sum("tracing");
  const whole = {
    step: WHOLE,
    ms: end.at - begin.at,
    cpuMs: { ...seen, server: (seen.server ?? 0) - tracing, children: sum("children"), tracing },
  };
  const rest = (who: string) => Math.max(0, (whole.cpuMs[who as keyof typeof whole.cpuMs] ?? 0) - sum(who));
  const outside = {
    step: OUTSIDE,
    ms: whole.ms - steps.reduce((total, { ms }) => total + ms, 0),
    cpuMs: { client: seen.client ?? 0, server: rest("server") },
  };
  const withAgent = steps.map(({ step, ms, cpuMs }) => ({
    step,
    ms,
    cpuMs: step === AGENT_WORKS ? { ...cpuMs, sandbox: rest("sandbox") } : cpuMs,
  }));
  return [...withAgent, outside, whole];
}

/** A moment that the agent noted, with the CPU time that it had used by then. */
export interface AgentMark {
  readonly name: string;
  readonly at: number;
  readonly cpuMs: number;
}

/** What happens before each mark of the agent. */
const BEFORE_MARK: Readonly<Record<string, string>> = {
  received: "SDK → proxy → agent",
  parsed: "agent: read and parse the request",
  prepared: "agent: user, environment, cgroup, pipes",
  spawned: "agent: hand the order to launch",
  started: "launch: the command runs",
  output: "the command: first output",
  exited: "the command: to its exit",
  drained: "agent: rest of the output",
  told: "agent: tell the end",
};
const BACK = "agent → proxy → SDK";

/** The steps of one command by the agent's marks, within what its caller saw. */
export function assembleCommand(marks: readonly AgentMark[], begin: Reading, end: Reading): TracedStep[] {
  const steps: TracedStep[] = [];
  let before: Pick<AgentMark, "at"> & Partial<AgentMark> = { at: begin.at };
  for (const mark of [...marks].sort((a, b) => a.at - b.at)) {
    const agent = before.cpuMs === undefined ? {} : { agent: mark.cpuMs - before.cpuMs };
    steps.push({ step: BEFORE_MARK[mark.name] ?? mark.name, ms: mark.at - before.at, cpuMs: agent });
    before = mark;
  }
  steps.push({ step: BACK, ms: end.at - before.at, cpuMs: {} });
  return [...steps, { step: WHOLE, ms: end.at - begin.at, cpuMs: used(begin.cpuMs, end.cpuMs) }];
}

const orderOf = (run: readonly TracedStep[]) => run.map(({ step }) => step).join();

/** Summary, step by step, of runs of the same action: of those whose steps came in the most frequent order. */
export function summarizeRuns(what: string, covers: Trace["covers"], runs: readonly (readonly TracedStep[])[]): Trace {
  const orders = Map.groupBy(runs, orderOf);
  const kept = [...orders.values()].sort((a, b) => b.length - a.length)[0] ?? [];
  const steps = (kept[0] ?? []).map(({ step }, index) => {
    const same = kept.map((run) => run[index] as TracedStep);
    const names = new Set(same.flatMap(({ cpuMs }) => Object.keys(cpuMs)));
    const median = (who: string) => summarize(same.map(({ cpuMs }) => cpuMs[who] ?? 0)).p50;
    return {
      step,
      time: summarize(same.map(({ ms }) => ms)),
      cpuMs: Object.fromEntries([...names].map((who) => [who, median(who)])),
    };
  });
  return { what, covers, runs: kept.length, of: runs.length, steps };
}
