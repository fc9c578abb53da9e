import type { ConnectionOptions } from "../connection/config.ts";
import type * as calls from "./sandbox-api.ts";
import type * as snapshots from "./snapshot-api.ts";

export interface SandboxCreateOpts extends ConnectionOptions, calls.CreateOptions {}

export interface SandboxConnectOpts extends ConnectionOptions {
  /** Shortest lifetime from now, in milliseconds; a longer lifetime stays. Default 300000. */
  readonly timeoutMs?: number | undefined;
}

export interface SandboxListOpts extends ConnectionOptions, calls.ListOptions {}

export interface SnapshotListOpts extends ConnectionOptions, snapshots.SnapshotListOptions {}

export interface FileUrlOpts {
  /** User who reads the file, or owns the new file. Default: the user of the template. */
  readonly user?: string | undefined;
  /** How long the URL is valid, in seconds. Default: until the sandbox ends. */
  readonly expiresInSeconds?: number | undefined;
}
