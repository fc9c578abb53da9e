import { ApiClient } from "../connection/api-client.ts";
import { type ConnectionOptions, resolveConfig } from "../connection/config.ts";
import * as names from "./named-api.ts";
import { getNetworkLog, type NetworkLogEntry, type NetworkLogOptions, type SuggestedNetwork, suggestNetwork } from "./network-log.ts";
import { Paginator } from "./paginator.ts";
import * as links from "./port-links.ts";
import * as calls from "./sandbox-api.ts";
import type { RollbackResult, SandboxAccess, SandboxInfo, SandboxLogEntry, SandboxMetrics, SnapshotInfo } from "./sandbox-info.ts";
import type { SandboxCreateOpts, SandboxListOpts, SnapshotListOpts } from "./sandbox-options.ts";
import * as snapshots from "./snapshot-api.ts";

const apiOf = (opts: ConnectionOptions) => new ApiClient(resolveConfig(opts));

/**
 * The static methods of `Sandbox` that only call the platform's API. A program that needs no more, such as most verbs of the command line, imports
 * this file: the protocol of the agent takes half of a command's start, and is loaded with `Sandbox` alone.
 */
export const Sandboxes = {
  create: (opts: SandboxCreateOpts): Promise<SandboxAccess> => calls.createSandbox(apiOf(opts), opts, {}),

  list(opts: SandboxListOpts = {}): Paginator<SandboxInfo> {
    const api = apiOf(opts);
    return new Paginator((nextToken) => calls.listSandboxes(api, { ...opts, nextToken }, {}), opts.nextToken);
  },

  kill: (id: string, opts: ConnectionOptions = {}): Promise<boolean> => calls.killSandbox(apiOf(opts), id, {}),

  getInfo: (id: string, opts: ConnectionOptions = {}): Promise<SandboxInfo> => calls.getSandboxInfo(apiOf(opts), id, {}),

  setTimeout: (id: string, timeoutMs: number, opts: ConnectionOptions = {}): Promise<void> =>
    calls.setSandboxTimeout(apiOf(opts), id, timeoutMs, {}),

  setIdleTimeout: (id: string, idleTimeoutMs: number | undefined, opts: ConnectionOptions = {}): Promise<void> =>
    names.setSandboxIdleTimeout(apiOf(opts), id, idleTimeoutMs, {}),

  /** Throws `NotFoundError`, reason `sandbox_not_found`. */
  getInfoByName: (name: string, opts: ConnectionOptions = {}): Promise<SandboxInfo> => names.getSandboxInfoByName(apiOf(opts), name, {}),

  resize: (id: string, resources: calls.SandboxResources, opts: ConnectionOptions = {}): Promise<SandboxInfo> =>
    names.resizeSandbox(apiOf(opts), id, resources, {}),

  rename: (id: string, name: string, opts: ConnectionOptions = {}): Promise<void> => names.renameSandbox(apiOf(opts), id, name, {}),

  pause: (id: string, opts: ConnectionOptions & snapshots.PauseOptions = {}): Promise<boolean> =>
    snapshots.pauseSandbox(apiOf(opts), id, opts, {}),

  createSnapshot: (id: string, opts: ConnectionOptions & snapshots.SnapshotOptions = {}): Promise<SnapshotInfo> =>
    snapshots.createSnapshot(apiOf(opts), id, opts, {}),

  rollback: (id: string, snapshotId: string, opts: ConnectionOptions = {}): Promise<RollbackResult> =>
    snapshots.rollbackSandbox(apiOf(opts), id, snapshotId, {}),

  listSnapshots(opts: SnapshotListOpts = {}): Paginator<SnapshotInfo> {
    const api = apiOf(opts);
    return new Paginator((nextToken) => snapshots.listSnapshots(api, { ...opts, nextToken }, {}), opts.nextToken);
  },

  deleteSnapshot: (snapshotId: string, opts: ConnectionOptions = {}): Promise<boolean> =>
    snapshots.deleteSnapshot(apiOf(opts), snapshotId, {}),

  getMetrics: (id: string, opts: ConnectionOptions & { readonly start?: Date; readonly end?: Date } = {}): Promise<SandboxMetrics[]> =>
    calls.getSandboxMetrics(apiOf(opts), id, opts, {}),

  updateNetwork: (id: string, update: calls.NetworkUpdate, opts: ConnectionOptions = {}): Promise<void> =>
    calls.updateSandboxNetwork(apiOf(opts), id, update, {}),

  getNetworkLog: (id: string, opts: ConnectionOptions & NetworkLogOptions = {}): Promise<NetworkLogEntry[]> =>
    getNetworkLog(apiOf(opts), id, opts, {}),

  suggestNetwork: (id: string, opts: ConnectionOptions = {}): Promise<SuggestedNetwork> => suggestNetwork(apiOf(opts), id, {}),

  getPortUrl: (id: string, port: number, opts: ConnectionOptions & links.PortUrlOptions = {}): Promise<links.SignedPortUrl> =>
    links.getPortUrl(apiOf(opts), id, port, opts),

  revokePortUrls: (id: string, port: number, opts: ConnectionOptions = {}): Promise<void> =>
    links.revokePortUrls(apiOf(opts), id, port, {}),

  getLogs: (id: string, opts: ConnectionOptions & calls.LogOptions = {}): Promise<SandboxLogEntry[]> =>
    calls.getSandboxLogs(apiOf(opts), id, opts, {}),
};
