import type { ConnectionOptions } from "../connection/config.ts";
import type * as calls from "./sandbox-api.ts";
import type * as snapshots from "./snapshot-api.ts";

export interface SandboxCreateOpts extends ConnectionOptions, calls.CreateOptions {}

export interface SandboxConnectOpts extends ConnectionOptions {
  /** At least this lifetime from now, in milliseconds; never shortens the one it has. Default 300000. */
  readonly timeoutMs?: number | undefined;
}

export interface SandboxListOpts extends ConnectionOptions, calls.ListOptions {}

export interface SnapshotListOpts extends ConnectionOptions, snapshots.SnapshotListOptions {}

export interface FileUrlOpts {
  /** Who reads or owns. Default: the user of the template. */
  readonly user?: string | undefined;
  /** The URL works for this many seconds. Default: as long as the sandbox lives. */
  readonly expiresInSeconds?: number | undefined;
}
