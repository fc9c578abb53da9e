import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient } from "../connection/api-client.ts";
import { errorFromResponse } from "../connection/http-errors.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { unchecked } from "../connection/unchecked.ts";
import { withQuery } from "../connection/with-query.ts";
import { type BoxyardError, ConflictError } from "../errors.ts";
import { getSandboxInfo, lifetimeSeconds, NO_SANDBOX, type Page, sandboxPath } from "./sandbox-api.ts";
import {
  accessFromJson,
  type RollbackResult,
  rollbackFromJson,
  type SandboxAccess,
  type SnapshotInfo,
  snapshotFromJson,
} from "./sandbox-info.ts";

export interface PauseOptions {
  /** False: only the disk is kept, and a resume boots the sandbox from it. Default true. */
  readonly keepMemory?: boolean | undefined;
}

/** True when the sandbox was paused by this, false when it was paused already. */
export async function pauseSandbox(api: ApiClient, id: string, pause: PauseOptions, options: RequestOptions): Promise<boolean> {
  try {
    return await api.send({
      method: "POST",
      path: sandboxPath(id, "/pause"),
      what: `pause sandbox ${id}`,
      notFoundReason: NO_SANDBOX,
      options,
      body: (pause.keepMemory === undefined ? {} : { memory: pause.keepMemory }) satisfies wire.SandboxPauseRequest,
      read: async () => true,
    });
  } catch (error) {
    if (!(error instanceof ConflictError)) throw error;
    if ((await getSandboxInfo(api, id, options)).state === "paused") return false;
    throw error;
  }
}

export interface ForkOptions {
  /** Number of copies, 1 to 100. Default 1. */
  readonly count?: number | undefined;
  /** Lifetime of each copy in milliseconds from now. Default 300000. */
  readonly timeoutMs?: number | undefined;
}

/** The result for one of the wanted copies. */
export type Forked = { readonly access: SandboxAccess } | { readonly error: BoxyardError };

export function forkSandbox(api: ApiClient, id: string, fork: ForkOptions, options: RequestOptions): Promise<Forked[]> {
  const what = `fork sandbox ${id}`;
  return api.send({
    method: "POST",
    path: sandboxPath(id, "/fork"),
    what,
    notFoundReason: NO_SANDBOX,
    options,
    body: { count: fork.count ?? 1, timeout: lifetimeSeconds(fork.timeoutMs ?? 300_000) } satisfies wire.SandboxForkRequest,
    read: async (response) => Promise.all(((await response.json()) as unknown[]).map((entry) => forked(entry, what))),
  });
}

async function forked(entry: unknown, what: string): Promise<Forked> {
  const { sandbox, error } = unchecked<wire.SandboxForkResult>(entry);
  if (!error) return { access: accessFromJson(sandbox) };
  const { code } = unchecked<wire.Error>(error);
  const status = typeof code === "number" && code >= 400 && code < 600 ? code : 500;
  return { error: await errorFromResponse(new Response(JSON.stringify(error), { status }), what) };
}

export interface SnapshotOptions {
  /** A name for the snapshot. If several snapshots have the name, it means the newest. */
  readonly name?: string | undefined;
  /** False: only the disk is kept, and sandboxes from the snapshot boot. True, the default: their processes continue from the snapshot. */
  readonly keepMemory?: boolean | undefined;
}

export function createSnapshot(api: ApiClient, id: string, snapshot: SnapshotOptions, options: RequestOptions): Promise<SnapshotInfo> {
  return api.send({
    method: "POST",
    path: sandboxPath(id, "/snapshots"),
    what: `snapshot sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    body: {
      ...(snapshot.name === undefined ? {} : { name: snapshot.name }),
      ...(snapshot.keepMemory === undefined ? {} : { memory: snapshot.keepMemory }),
    },
    read: async (response) => snapshotFromJson(await response.json()),
  });
}

export function rollbackSandbox(api: ApiClient, id: string, snapshotId: string, options: RequestOptions): Promise<RollbackResult> {
  return api.send({
    method: "POST",
    path: sandboxPath(id, "/rollback"),
    what: `roll sandbox ${id} back`,
    notFoundReason: NO_SANDBOX,
    options,
    body: { snapshotID: snapshotId },
    read: async (response) => rollbackFromJson(await response.json()),
  });
}

export interface SnapshotListOptions extends RequestOptions {
  /** Only snapshots of this sandbox. */
  readonly sandboxId?: string | undefined;
  /** Only the snapshots with this name, `name:tag` or id. */
  readonly name?: string | undefined;
  /** Page size, 1 to 100. Default 100. */
  readonly limit?: number | undefined;
  /** Token of the next page, from an earlier page. */
  readonly nextToken?: string | undefined;
}

export function listSnapshots(api: ApiClient, opts: SnapshotListOptions, options: RequestOptions): Promise<Page<SnapshotInfo>> {
  const query = new URLSearchParams();
  if (opts.sandboxId) query.set("sandboxID", opts.sandboxId);
  if (opts.name) query.set("name", opts.name);
  if (opts.limit !== undefined) query.set("limit", String(opts.limit));
  if (opts.nextToken) query.set("nextToken", opts.nextToken);
  return api.send({
    method: "GET",
    path: `/snapshots${withQuery(query)}`,
    what: "list snapshots",
    options,
    read: async (response) => {
      const items = ((await response.json()) as unknown[]).map(snapshotFromJson);
      return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
    },
  });
}

/** False when there was no such snapshot. */
export function deleteSnapshot(api: ApiClient, snapshotId: string, options: RequestOptions): Promise<boolean> {
  return api.send({
    method: "DELETE",
    path: `/templates/${encodeURIComponent(snapshotId)}`,
    what: `delete snapshot ${snapshotId}`,
    options,
    accept: [404],
    read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
  });
}
