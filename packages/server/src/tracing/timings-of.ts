import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";
import { RecentWork } from "../overview/recent.ts";
import { Instruments, type Timings } from "../prometheus/instruments.ts";
import { allOf, Tracer } from "./tracer.ts";

interface Measuring {
  readonly instruments: Instruments;
  readonly tracer: Tracer | undefined;
  readonly recent: RecentWork;
  /** Gets the times of changes of sandboxes, for all of them. */
  readonly timings: Timings;
}

/** What measures the server's work: its own counts, and traces if they are wanted. */
export function timingsOf({ traces }: Pick<ServerConfig, "traces">, clock: Clock, logger: Logger): Measuring {
  const instruments = new Instruments();
  const tracer = traces && new Tracer({ ...traces, clock, logger });
  const recent = new RecentWork(clock);
  return { instruments, tracer, recent, timings: allOf([instruments, recent, ...(tracer ? [tracer] : [])]) };
}
