import type { StepObserver } from "@boxyard/core";

export interface LocalDriverConfig {
  /** Absolute path of the data folder (`BOXYARD_DATA`). */
  readonly dataFolder: string;
  /** Eight hex digits that all names of this server on the machine carry; from instance.json. */
  readonly instance: string;
  /** Addresses of sandboxes, a /16 in CIDR form; from instance.json. */
  readonly network: string;
  /** Folder of the guest bundle. */
  readonly guestFolder: string;
  /** Path of crun; found on the usual paths by default. */
  readonly runtimeFile?: string;
  /** How long an agent may take to answer after its start; 10,000 by default. */
  readonly agentTimeoutMs?: number;
  /** Called around every step; may inject faults in tests. */
  readonly observer?: StepObserver;
  /** Failures of an undo and other things that went wrong without an answer to put them in. */
  readonly onError?: (what: string, error: unknown) => void;
}
