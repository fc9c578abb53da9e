import type { Clock } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { NetworkShares } from "./shares.ts";

export interface NetworksConfig {
  /** 8 hex digits, from instance.json. */
  readonly instance: string;
  /** The sandboxes' range, `10.208.0.0/16`, from instance.json; prefix /12 to /24. */
  readonly network: string;
  /** Directory in the data directory that holds the next address to give out; made if missing. */
  readonly stateDirectory: string;
  readonly logger: Logger;
  readonly clock?: Clock;
  /** Machine-wide runtime directory; default `/run/boxyard`. */
  readonly runDirectory?: string;
  /** File with the machine's name servers; default `/etc/resolv.conf`. */
  readonly resolvConf?: string;
  /** What each sandbox may take of the network; `DEFAULT_SHARES` by default. */
  readonly shares?: NetworkShares;
  /** How many connections the machine can track; default: the kernel's limit. */
  readonly mostTracked?: number;
  /** Certificates of the authorities by which servers are verified where TLS is opened, in PEM form; default: those that Bun brings. */
  readonly trust?: () => string | undefined;
  /** Directory of the recordings of exchanges by HTTP, a directory each; without it there are none. */
  readonly recordings?: string;
  /** Free bytes of their disk that the operator wants kept (`BOXYARD_RESERVE_DISK`); those of its size by default. */
  readonly diskReserve?: number;
}
