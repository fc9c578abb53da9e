import type { Clock, StepObserver } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";

export interface LocalDriverConfig {
  /** Absolute path of the data folder (`BOXYARD_DATA`), set up before. */
  readonly dataFolder: string;
  readonly logger: Logger;
  /** Path of crun; found on the usual paths by default. */
  readonly runtimeFile?: string;
  /** How long an agent may take to answer after its start; 10,000 by default. */
  readonly agentTimeoutMs?: number;
  /** Called around every step; may inject faults in tests. */
  readonly observer?: StepObserver;
  readonly clock?: Clock;
}
