import type * as wire from "@boxyard/spec/platform-types";
import { errorOf } from "./api-error.ts";
import { PAGE_TOKEN, pageToken, sessionEnded } from "./session.ts";

/*
 * Calls of the platform API, by the session: `/dashboard/api/<path>` is `/<path>` of the API.
 */

interface CallOptions {
  readonly body?: unknown;
  /** Bytes instead of JSON. */
  readonly bytes?: Blob;
  readonly headers?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal | undefined;
}

/** One request. Throws `ApiError` for an answer that is not a success. */
export async function request(method: string, path: string, options: CallOptions = {}): Promise<Response> {
  const { body, bytes, headers, signal } = options;
  const response = await fetch(`/dashboard/api${path}`, {
    method,
    headers: { [PAGE_TOKEN]: pageToken(), ...(body !== undefined && { "Content-Type": "application/json" }), ...headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
    ...(bytes && { body: bytes }),
    ...(signal && { signal }),
  });
  if (response.ok) return response;
  const error = await errorOf(response);
  // A volume's token that is refused is no end of the session.
  if (response.status === 401 && headers?.Authorization === undefined) sessionEnded();
  throw error;
}

export async function call<T>(method: string, path: string, options?: CallOptions): Promise<T> {
  const response = await request(method, path, options);
  const text = await response.text();
  return (text === "" ? undefined : JSON.parse(text)) as T;
}

/** A part of a path. */
export const id = encodeURIComponent;
const MAX_PAGES = 100;

/** All pages of a list; at most 10,000 entries. */
export async function allPages<T>(path: string, signal?: AbortSignal): Promise<T[]> {
  const items: T[] = [];
  let token: string | null = null;
  for (let page = 0; page < MAX_PAGES; page++) {
    const more: string = token === null ? "" : `&nextToken=${id(token)}`;
    const response = await request("GET", `${path}${path.includes("?") ? "&" : "?"}limit=100${more}`, { signal });
    items.push(...((await response.json()) as T[]));
    token = response.headers.get("x-next-token");
    if (!token) break;
  }
  return items;
}

/** Running sandboxes come in one answer; paused ones in pages. */
export async function listSandboxes(signal?: AbortSignal): Promise<wire.ListedSandbox[]> {
  const running = call<wire.ListedSandbox[]>("GET", "/sandboxes", { signal });
  const paused = allPages<wire.ListedSandbox>("/v2/sandboxes?state=paused", signal);
  return (await Promise.all([running, paused])).flat();
}

export const sandbox = {
  get: (name: string, signal?: AbortSignal) => call<wire.SandboxDetail>("GET", `/sandboxes/${id(name)}`, { signal }),
  create: (body: wire.NewSandboxV2) => call<wire.Sandbox>("POST", "/v2/sandboxes", { body }),
  kill: (name: string) => call<void>("DELETE", `/sandboxes/${id(name)}`),
  pause: (name: string, memory: boolean) => call<void>("POST", `/sandboxes/${id(name)}/pause`, { body: { memory } }),
  resume: (name: string, timeout: number) => call<wire.Sandbox>("POST", `/v2/sandboxes/${id(name)}/connect`, { body: { timeout } }),
  extend: (name: string, timeout: number) => call<void>("POST", `/sandboxes/${id(name)}/timeout`, { body: { timeout } }),
  fork: (name: string, count: number, timeout: number) =>
    call<wire.SandboxForkResult[]>("POST", `/sandboxes/${id(name)}/fork`, { body: { count, timeout } }),
  snapshot: (name: string, as: string) =>
    call<wire.SnapshotInfo>("POST", `/sandboxes/${id(name)}/snapshots`, { body: as === "" ? {} : { name: as } }),
  rollback: (name: string, snapshotID: string) =>
    call<wire.SandboxRollbackResult>("POST", `/sandboxes/${id(name)}/rollback`, { body: { snapshotID } }),
  resize: (name: string, body: wire.SandboxResources) => call<wire.SandboxDetail>("PATCH", `/sandboxes/${id(name)}/resources`, { body }),
  update: (name: string, body: wire.SandboxUpdate) => call<wire.SandboxDetail>("PATCH", `/sandboxes/${id(name)}`, { body }),
  networkLog: (name: string, query: string, signal?: AbortSignal) =>
    call<wire.NetworkLog>("GET", `/sandboxes/${id(name)}/network/log${query}`, { signal }),
  suggestNetwork: (name: string) => call<wire.SuggestedNetwork>("GET", `/sandboxes/${id(name)}/network/suggest`),
  network: (name: string, body: wire.SandboxNetworkUpdateConfig) => call<void>("PUT", `/sandboxes/${id(name)}/network`, { body }),
  logs: (name: string, query: string, signal?: AbortSignal) =>
    call<wire.SandboxLogsV2Response>("GET", `/v2/sandboxes/${id(name)}/logs${query}`, { signal }),
  metrics: (name: string, start: number, end: number, signal?: AbortSignal) =>
    call<wire.SandboxMetric[]>("GET", `/sandboxes/${id(name)}/metrics?start=${start}&end=${end}`, { signal }),
};

export const listSnapshots = (query = "", signal?: AbortSignal) => allPages<wire.SnapshotInfo>(`/snapshots${query}`, signal);

export const templates = {
  list: (signal?: AbortSignal) => call<wire.Template[]>("GET", "/templates", { signal }),
  get: (name: string, signal?: AbortSignal) => call<wire.TemplateWithBuilds>("GET", `/templates/${id(name)}`, { signal }),
  layers: (name: string, signal?: AbortSignal) => call<wire.TemplateLayers>("GET", `/boxyard/templates/${id(name)}/layers`, { signal }),
  tags: (name: string, signal?: AbortSignal) => call<wire.TemplateTag[]>("GET", `/templates/${id(name)}/tags`, { signal }),
  remove: (name: string) => call<void>("DELETE", `/templates/${id(name)}`),
  addTags: (target: string, tags: readonly string[]) => call<void>("POST", "/templates/tags", { body: { target, tags } }),
  removeTags: (name: string, tags: readonly string[]) => call<void>("DELETE", "/templates/tags", { body: { name, tags } }),
  request: (body: wire.TemplateBuildRequestV3) => call<wire.TemplateRequestResponseV3>("POST", "/v3/templates", { body }),
  start: (name: string, build: string, body: wire.TemplateBuildStartV2) =>
    call<void>("POST", `/v2/templates/${id(name)}/builds/${id(build)}`, { body }),
  cancel: (name: string, build: string) => call<void>("POST", `/templates/${id(name)}/builds/${id(build)}/cancel`),
  status: (name: string, build: string, offset: number, signal?: AbortSignal) =>
    call<wire.TemplateBuildInfo>("GET", `/templates/${id(name)}/builds/${id(build)}/status?logsOffset=${offset}&limit=100`, { signal }),
};

export const keys = {
  list: (signal?: AbortSignal) => call<wire.TeamAPIKey[]>("GET", "/api-keys", { signal }),
  create: (body: wire.NewTeamAPIKey) => call<wire.CreatedTeamAPIKey>("POST", "/api-keys", { body }),
  rename: (key: string, name: string) => call<wire.TeamAPIKey>("PATCH", `/api-keys/${id(key)}`, { body: { name } }),
  revoke: (key: string) => call<void>("DELETE", `/api-keys/${id(key)}`),
};

/** An entry of a volume, as the server describes it. */
export interface VolumeEntry {
  readonly name: string;
  readonly type: string;
  readonly path: string;
  readonly size: number;
  readonly mtime: string;
}

const ofVolume = (token: string) => ({ Authorization: `Bearer ${token}` });
const inVolume = (volume: string, part: string, path: string) => `/volumecontent/${id(volume)}/${part}?path=${id(path)}`;

export const volumes = {
  list: (signal?: AbortSignal) => call<wire.Volume[]>("GET", "/volumes", { signal }),
  get: (volume: string, signal?: AbortSignal) => call<wire.VolumeDetail>("GET", `/boxyard/volumes/${id(volume)}`, { signal }),
  create: (body: wire.NewVolume) => call<wire.VolumeAndToken>("POST", "/volumes", { body }),
  remove: (volume: string) => call<void>("DELETE", `/volumes/${id(volume)}`),
  resize: (volume: string, sizeMB: number) => call<wire.VolumeDetail>("PATCH", `/boxyard/volumes/${id(volume)}`, { body: { sizeMB } }),
  /** All of its files, as a tar. */
  archive: (volume: string) => request("GET", `/boxyard/volumes/${id(volume)}/archive`),
  makeDirectory: (volume: string, token: string, path: string) =>
    call<VolumeEntry>("POST", inVolume(volume, "dir", path), { headers: ofVolume(token) }),
  entries: (volume: string, token: string, path: string, signal?: AbortSignal) =>
    call<VolumeEntry[]>("GET", inVolume(volume, "dir", path), { headers: ofVolume(token), signal }),
  read: (volume: string, token: string, path: string) => request("GET", inVolume(volume, "file", path), { headers: ofVolume(token) }),
  write: (volume: string, token: string, path: string, bytes: Blob) =>
    call<VolumeEntry>("PUT", `${inVolume(volume, "file", path)}&force=true`, { headers: ofVolume(token), bytes }),
  removePath: (volume: string, token: string, path: string) =>
    call<void>("DELETE", inVolume(volume, "path", path), { headers: ofVolume(token) }),
};
