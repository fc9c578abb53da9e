import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { ServerConfig } from "../config.ts";
import { Instruments, type Timings } from "../prometheus/instruments.ts";
import { bothOf, Tracer } from "./tracer.ts";

interface Measuring {
  readonly instruments: Instruments;
  readonly tracer: Tracer | undefined;
  /** Gets the times of changes of sandboxes, for both. */
  readonly timings: Timings;
}

/** What measures the server's work: its own counts, and traces if they are wanted. */
export function timingsOf({ traces }: Pick<ServerConfig, "traces">, clock: Clock, logger: Logger): Measuring {
  const instruments = new Instruments();
  const tracer = traces && new Tracer({ ...traces, clock, logger });
  return { instruments, tracer, timings: bothOf(instruments, tracer) };
}
