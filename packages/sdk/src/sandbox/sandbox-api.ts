import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient, ApiRequest } from "../connection/api-client.ts";
import { randomKey } from "../connection/random-key.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { withQuery } from "../connection/with-query.ts";
import { mountsToJson, type VolumeMounts } from "../volumes/volume-types.ts";
import type { EgressRules } from "./egress-rules.ts";
import {
  accessFromJson,
  infoFromJson,
  logFromJson,
  metricsFromJson,
  type SandboxAccess,
  type SandboxInfo,
  type SandboxLogEntry,
  type SandboxMetrics,
} from "./sandbox-info.ts";
import { undoCreate, wasGivenUp } from "./undo-create.ts";

/** The size of a sandbox. Members that are omitted stay as they are; at create, as the template says. */
export interface SandboxResources {
  /** Number of processors; may be a fraction. */
  readonly cpuCount?: number | undefined;
  readonly memoryMB?: number | undefined;
  /** What the sandbox may write beside the template's own files. */
  readonly diskSizeMB?: number | undefined;
}

export interface LifecycleOptions {
  /** What happens at the end of the lifetime. Default `kill`. */
  readonly onTimeout?: "kill" | "pause" | undefined;
  /** True: a request to the paused sandbox resumes it. Default false. */
  readonly autoResume?: boolean | undefined;
}

/** Network access of a sandbox. The server refuses rules that it cannot enforce; it never ignores one. */
export interface NetworkOptions extends EgressRules {
  /** False: requests to the sandbox's ports need the header of `trafficAccessToken`. Default true. */
  readonly allowPublicTraffic?: boolean | undefined;
  /** `Host` header that programs in the sandbox get; `${PORT}` in it is replaced by the port. */
  readonly maskRequestHost?: string | undefined;
  /** Ports of the sandbox whose programs speak TLS, 256 at most. Their certificates are not checked; addresses of ports stay as they are. */
  readonly httpsPorts?: readonly number[] | undefined;
}

/** Replaces all egress rules; a list that is omitted becomes empty. */
export interface NetworkUpdate extends EgressRules {
  /** False: no connections from the sandbox to the outside. Default true. */
  readonly allowInternetAccess?: boolean | undefined;
}

export interface CreateOptions {
  /** A name that no other living sandbox of the team has: 1 to 63 letters, digits, `.`, `_` and `-`. */
  readonly name?: string | undefined;
  /** Name or id of a template, or id of a snapshot. Default `base`. */
  readonly template?: string | undefined;
  /** Default: the template's. `resize` changes it. */
  readonly resources?: SandboxResources | undefined;
  /** Lifetime in milliseconds from now. Default 300000; `setTimeout` changes it. */
  readonly timeoutMs?: number | undefined;
  /** It ends, or is paused, also when nothing has used it for so many milliseconds: no request, output of a command or work of its processors. Default: never. */
  readonly idleTimeoutMs?: number | undefined;
  /** Your own keys and values; `list` can filter by them. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Environment variables of every command. */
  readonly envs?: Readonly<Record<string, string>> | undefined;
  /** Variables whose values are secrets of your team (`Secrets`), by the name or id of each. Everything in the sandbox can read them. */
  readonly envSecrets?: Readonly<Record<string, string>> | undefined;
  /** False: no connections from the sandbox to the outside. Default true. */
  readonly allowInternetAccess?: boolean | undefined;
  readonly network?: NetworkOptions | undefined;
  readonly lifecycle?: LifecycleOptions | undefined;
  /** Volumes that the sandbox has, by path: `{ "/data": volume, "/cache": { volume: "cache", readOnly: true } }`. At most 32. */
  readonly volumes?: VolumeMounts | undefined;
  /**
   * Identifies this creation: another call with the same key returns the same sandbox. Default: a new key for each call; if such a call is
   * aborted or exceeds its time limit, its sandbox is killed in the background.
   */
  readonly idempotencyKey?: string | undefined;
}

export interface ListOptions extends RequestOptions {
  /** Only these states. Default: all. */
  readonly state?: readonly ("running" | "paused")[] | undefined;
  /** Only sandboxes whose metadata has all of these. */
  readonly metadata?: Readonly<Record<string, string>> | undefined;
  /** Only sandboxes of this template. */
  readonly template?: string | undefined;
  /** By start time. Default `desc`. */
  readonly order?: "asc" | "desc" | undefined;
  /** Page size, 1 to 100. Default 100. */
  readonly limit?: number | undefined;
  /** Token of the next page, from an earlier page. */
  readonly nextToken?: string | undefined;
}

export const NO_SANDBOX = "sandbox_not_found";

/** A lifetime as the API takes it: whole seconds, rounded up. */
export const lifetimeSeconds = (timeoutMs: number): number => Math.ceil(timeoutMs / 1000);

export const sandboxPath = (id: string, rest = ""): string => `/sandboxes/${encodeURIComponent(id)}${rest}`;

/** A create that is given up while it is under way is undone in the background, unless the caller gave an idempotency key and may repeat it. */
export async function createSandbox(api: ApiClient, opts: CreateOptions, options: RequestOptions): Promise<SandboxAccess> {
  const request = createRequest(opts);
  const isSent = ![api.config.signal, options.signal].some((signal) => signal?.aborted);
  try {
    return await api.send({ ...request, options });
  } catch (error) {
    if (isSent && opts.idempotencyKey === undefined && wasGivenUp(error)) {
      void undoCreate(api, request, (own, id) => killSandbox(own, id, {}));
    }
    throw error;
  }
}

function createRequest(opts: CreateOptions): ApiRequest<SandboxAccess> {
  return {
    method: "POST",
    path: "/v2/sandboxes",
    what: "create sandbox",
    notFoundReason: "template_not_found",
    headers: { "Idempotency-Key": opts.idempotencyKey ?? randomKey() },
    repeatable: true,
    body: { ...createBody(opts), ...(opts.name === undefined ? {} : { name: opts.name }) } satisfies wire.NewSandboxV2,
    read: async (response) => accessFromJson(await response.json()),
  };
}

export function createBody(opts: Omit<CreateOptions, "name" | "idempotencyKey">) {
  const { lifecycle } = opts;
  return {
    templateID: opts.template ?? "base",
    timeout: lifetimeSeconds(opts.timeoutMs ?? 300_000),
    ...(opts.resources ? { resources: opts.resources } : {}),
    ...(opts.idleTimeoutMs === undefined ? {} : { idleTimeout: lifetimeSeconds(opts.idleTimeoutMs) }),
    ...(opts.metadata ? { metadata: opts.metadata } : {}),
    ...(opts.envs ? { envVars: opts.envs } : {}),
    ...(opts.envSecrets ? { envSecrets: opts.envSecrets } : {}),
    ...(opts.allowInternetAccess === undefined ? {} : { allow_internet_access: opts.allowInternetAccess }),
    ...(opts.network ? { network: opts.network } : {}),
    ...(opts.volumes ? { volumeMounts: mountsToJson(opts.volumes) } : {}),
    ...(lifecycle?.onTimeout ? { autoPause: lifecycle.onTimeout === "pause" } : {}),
    ...(lifecycle?.autoResume === undefined ? {} : { autoResume: { enabled: lifecycle.autoResume } }),
  } satisfies Omit<wire.NewSandboxV2, "name">;
}

export function connectSandbox(api: ApiClient, id: string, timeoutMs: number | undefined, options: RequestOptions): Promise<SandboxAccess> {
  return api.send({
    method: "POST",
    path: `/v2${sandboxPath(id, "/connect")}`,
    what: `connect to sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    // Connecting twice is connecting once: it never shortens a lifetime.
    repeatable: true,
    options,
    body: (timeoutMs === undefined ? {} : { timeout: lifetimeSeconds(timeoutMs) }) satisfies wire.ConnectSandboxV2,
    read: async (response) => accessFromJson(await response.json()),
  });
}

export function getSandboxInfo(api: ApiClient, id: string, options: RequestOptions): Promise<SandboxInfo> {
  return api.send({
    method: "GET",
    path: sandboxPath(id),
    what: `look at sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) => infoFromJson(await response.json()),
  });
}

/** False when there was no such sandbox. */
export function killSandbox(api: ApiClient, id: string, options: RequestOptions): Promise<boolean> {
  return api.send({
    method: "DELETE",
    path: sandboxPath(id),
    what: `kill sandbox ${id}`,
    options,
    accept: [404],
    // A repeated request may meet the success of the first.
    read: async (response, mayBeDone) => response.status !== 404 || mayBeDone,
  });
}

export function setSandboxTimeout(api: ApiClient, id: string, timeoutMs: number, options: RequestOptions): Promise<void> {
  return api.send({
    method: "POST",
    path: sandboxPath(id, "/timeout"),
    what: `set timeout of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    repeatable: true,
    options,
    body: { timeout: lifetimeSeconds(timeoutMs) } satisfies wire.SandboxTimeoutRequest,
    read: async () => undefined,
  });
}

export function updateSandboxNetwork(api: ApiClient, id: string, update: NetworkUpdate, options: RequestOptions): Promise<void> {
  const { allowInternetAccess, preset, allowOut, denyOut, dnsServers, rules, secrets, egressProxy, record, replay, onMiss } = update;
  return api.send({
    method: "PUT",
    path: sandboxPath(id, "/network"),
    what: `update network of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    body: {
      preset,
      allowOut,
      denyOut,
      dnsServers,
      rules,
      secrets,
      egressProxy,
      record,
      replay,
      onMiss,
      allow_internet_access: allowInternetAccess,
    } satisfies wire.SandboxNetworkUpdateConfig,
    read: async () => undefined,
  });
}

export function getSandboxMetrics(
  api: ApiClient,
  id: string,
  range: { readonly start?: Date | undefined; readonly end?: Date | undefined },
  options: RequestOptions,
): Promise<SandboxMetrics[]> {
  const query = new URLSearchParams();
  if (range.start) query.set("start", String(Math.floor(range.start.getTime() / 1000)));
  if (range.end) query.set("end", String(Math.floor(range.end.getTime() / 1000)));
  return api.send({
    method: "GET",
    path: sandboxPath(id, `/metrics${withQuery(query)}`),
    what: `read metrics of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) => ((await response.json()) as unknown[]).map(metricsFromJson),
  });
}

export interface LogOptions {
  /** Earliest time of an entry. Default: all entries that the server has. */
  readonly since?: Date | undefined;
  /** The lowest level. Default `debug`. */
  readonly level?: SandboxLogEntry["level"] | undefined;
  /** Only entries that contain this text, in upper or lower case. */
  readonly search?: string | undefined;
  /** Largest number of entries, 1 to 1000; the oldest are returned. Default 1000. */
  readonly limit?: number | undefined;
}

export function getSandboxLogs(api: ApiClient, id: string, opts: LogOptions, options: RequestOptions): Promise<SandboxLogEntry[]> {
  const query = new URLSearchParams({ direction: "forward" });
  if (opts.since) query.set("cursor", String(opts.since.getTime()));
  if (opts.level) query.set("level", opts.level);
  if (opts.search) query.set("search", opts.search);
  if (opts.limit !== undefined) query.set("limit", String(opts.limit));
  return api.send({
    method: "GET",
    path: `/v2${sandboxPath(id, `/logs${withQuery(query)}`)}`,
    what: `read logs of sandbox ${id}`,
    notFoundReason: NO_SANDBOX,
    options,
    read: async (response) =>
      ((await response.json()) as { readonly [N in keyof wire.SandboxLogsV2Response]: unknown[] }).logs.map(logFromJson),
  });
}

export interface Page<T> {
  readonly items: readonly T[];
  readonly nextToken: string | undefined;
}

export function listSandboxes(api: ApiClient, opts: ListOptions, options: RequestOptions): Promise<Page<SandboxInfo>> {
  const query = new URLSearchParams();
  if (opts.state?.length) query.set("state", opts.state.join(","));
  if (opts.metadata) query.set("metadata", new URLSearchParams(opts.metadata).toString());
  if (opts.template) query.set("template", opts.template);
  if (opts.order) query.set("order", opts.order);
  if (opts.limit !== undefined) query.set("limit", String(opts.limit));
  if (opts.nextToken) query.set("nextToken", opts.nextToken);
  return api.send({
    method: "GET",
    path: `/v2/sandboxes${withQuery(query)}`,
    what: "list sandboxes",
    options,
    read: async (response) => {
      const items = ((await response.json()) as unknown[]).map(infoFromJson);
      return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
    },
  });
}
