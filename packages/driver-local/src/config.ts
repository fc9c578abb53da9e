import type { Clock, StepObserver } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { NetworkShares } from "./network/shares.ts";
import type { Reserve } from "./reserve-for-machine.ts";
import type { RuntimeName } from "./runtime/dialect.ts";

export interface LocalDriverConfig {
  /** Absolute path of the data directory (`BOXYARD_DATA`), set up before. */
  readonly dataDir: string;
  readonly logger: Logger;
  /** The runtime to use (`BOXYARD_RUNTIME`); by default the first that works of crun and runc. */
  readonly runtime?: RuntimeName;
  /** Files that one process of a sandbox may have open (`BOXYARD_MAX_OPEN_FILES`); 16,384 by default. */
  readonly maxOpenFiles?: number;
  /** Bytes a second that each sandbox may read from the disk, and that it may write (`BOXYARD_DISK_BANDWIDTH`); no bound by default. */
  readonly diskBandwidth?: number;
  /** What each sandbox may take of the network (`BOXYARD_NETWORK_*`); `DEFAULT_SHARES` by default. */
  readonly networkShares?: NetworkShares;
  /** File with the name servers that answer sandboxes' questions (`BOXYARD_RESOLV_CONF`); `/etc/resolv.conf` by default. */
  readonly resolvConf?: string;
  /** The sandboxes' address range, when the operator set one (`BOXYARD_NETWORK`): the driver then chooses no other when it is in use. */
  readonly network?: string;
  /**
   * True: only to end the sandboxes and release what they have. When the range of addresses is in use by others, the driver opens with another one,
   * which it does not write down. False by default.
   */
  readonly ending?: boolean;
  /** What all sandboxes together leave to the machine (`BOXYARD_RESERVE_*`); what is left out depends on the machine. */
  readonly reserve?: Reserve;
  /** How long an agent may take to answer after its start, in milliseconds; 10,000 by default. */
  readonly agentTimeoutMs?: number;
  /** Paused sandboxes that may stay in memory (`BOXYARD_WAKE_CACHE_*`), and how many of their images are tried at once; none by default. */
  readonly wakeCache?: { readonly budgetBytes?: number; readonly lingerMs: number; readonly trialsAtOnce?: number };
  /** How long one run of CRIU may take, in milliseconds, plus a time that grows with its memory; 30,000 by default. */
  readonly criuLimitMs?: number;
  /** Authorities by which the egress proxy verifies servers where it opens TLS, in PEM form; those that Bun brings by default. */
  readonly trust?: () => string | undefined;
  /** Directory of the recordings of exchanges by HTTP, made if missing; without it there are none. */
  readonly recordings?: string;
  /** Called around every step; may inject faults in tests. */
  readonly observer?: StepObserver;
  readonly clock?: Clock;
}
