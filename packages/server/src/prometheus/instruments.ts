import { Counter, Gauge, Histogram, Registry } from "prom-client";

/** Upper bounds in seconds: from a step of a wake to a pause of much memory. */
const LONG = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 120];
const SHORT = [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5, 5];

/** How long one change of a sandbox and its steps take. */
export interface RunTimes {
  step(name: string, ms: number): void;
  end(ms: number, isOk: boolean): void;
}

/** How long the changes of sandboxes take. */
export interface Timings {
  /** At the begin of a change of a sandbox, with the kind of its owner; undefined: its times are not wanted. */
  begin(transition: string, owner: string): RunTimes | undefined;
}

/**
 * What the server counts while it works, for Prometheus; all else is read when it is scraped (`collect.ts`). Labels have few values: names of
 * transitions, steps, reasons and actions, never those of users.
 */
export class Instruments implements Timings {
  readonly registry = new Registry();
  /** Creates of sandboxes since the start of the server. */
  readonly creates = { ok: 0, failed: 0 };
  private readonly transitions: Histogram<"transition" | "result">;
  private readonly steps: Histogram<"transition" | "step">;
  private readonly requests: Histogram<"method" | "status">;
  private readonly statements: Histogram;
  private readonly refusals: Counter<"reason">;
  private readonly changes: Counter<"action">;

  constructor() {
    const registers = [this.registry];
    this.transitions = new Histogram({
      name: "boxyard_transition_seconds",
      help: "Duration of changes of sandboxes: create, resume, pause, kill and the others",
      labelNames: ["transition", "result"],
      buckets: LONG,
      registers,
    });
    this.steps = new Histogram({
      name: "boxyard_step_seconds",
      help: "Duration of each step of a change of a sandbox",
      labelNames: ["transition", "step"],
      buckets: LONG,
      registers,
    });
    this.requests = new Histogram({
      name: "boxyard_api_request_seconds",
      help: "Duration of requests to the platform API, up to the head of the answer",
      labelNames: ["method", "status"],
      buckets: LONG,
      registers,
    });
    this.statements = new Histogram({
      name: "boxyard_store_seconds",
      help: "Duration of statements of the store, the wait for their turn included",
      buckets: SHORT,
      registers,
    });
    this.refusals = new Counter({
      name: "boxyard_refusals_total",
      help: "Requests that met a limit, or came while something was away, by reason",
      labelNames: ["reason"],
      registers,
    });
    this.changes = new Counter({
      name: "boxyard_changes_total",
      help: "Changes that the store has taken, by action, such as sandbox.running or build.error",
      labelNames: ["action"],
      registers,
    });
  }

  begin(transition: string): RunTimes {
    return {
      step: (step, ms) => this.steps.observe({ transition, step }, ms / 1000),
      end: (ms, isOk) => this.transition(transition, ms, isOk),
    };
  }

  private transition(transition: string, ms: number, isOk: boolean): void {
    if (transition === "create") this.creates[isOk ? "ok" : "failed"]++;
    this.transitions.observe({ transition, result: isOk ? "ok" : "failed" }, ms / 1000);
  }

  request(method: string, status: number, ms: number): void {
    this.requests.observe({ method: METHODS.has(method) ? method : "other", status: String(status) }, ms / 1000);
  }

  statement(ms: number): void {
    this.statements.observe(ms / 1000);
  }

  refused(reason: string): void {
    this.refusals.inc({ reason });
  }

  changed(actions: readonly string[]): void {
    for (const action of actions) this.changes.inc({ action });
  }

  /** Adds a value, or a value for each label, that `read` gives when it is scraped. */
  addGauge(name: string, help: string, read: () => number | Promise<number> | Readonly<Record<string, number>>, label?: string): void {
    const gauge = new Gauge({
      name,
      help,
      labelNames: label === undefined ? [] : [label],
      registers: [this.registry],
      async collect() {
        const value = await read();
        if (typeof value === "number") return this.set(value);
        this.reset();
        for (const [key, count] of Object.entries(value)) this.set({ [label ?? ""]: key }, count);
      },
    });
    void gauge;
  }

  /** Adds a count that only grows, which `read` gives when it is scraped. */
  addCounter(name: string, help: string, read: () => number): void {
    const counter = new Counter({
      name,
      help,
      registers: [this.registry],
      collect() {
        this.reset();
        this.inc(read());
      },
    });
    void counter;
  }
}

const METHODS = new Set(["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"]);
