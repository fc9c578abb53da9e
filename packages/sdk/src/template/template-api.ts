import type * as wire from "@boxyard/spec/platform-types";
import type { ApiClient } from "../connection/api-client.ts";
import type { RequestOptions } from "../connection/request-scope.ts";
import { text, texts, unchecked } from "../connection/unchecked.ts";
import { withQuery } from "../connection/with-query.ts";
import type { Page } from "../sandbox/sandbox-api.ts";
import { mountsToJson } from "../volumes/volume-types.ts";
import type { SentStep, TemplateOrigin, TemplateParts } from "./steps.ts";
import {
  type BuildStatus,
  buildFromJson,
  type TemplateInfo,
  type TemplateSettings,
  type TemplateTag,
  tagFromJson,
  templateFromJson,
} from "./template-info.ts";

const NO_TEMPLATE = "template_not_found";
const templatePath = (id: string, rest = "") => `/templates/${encodeURIComponent(id)}${rest}`;
const ignore = async () => undefined;

/** A template and one build of it. */
export interface BuildRef {
  readonly templateId: string;
  readonly buildId: string;
}

export interface NewBuild extends BuildRef {
  readonly names: readonly string[];
  readonly tags: readonly string[];
}

export interface BuildResources {
  /** Number of processors of each sandbox, at least 1. Default: the server's default, 2. */
  readonly cpuCount?: number | undefined;
  /** Memory of each sandbox in MiB, a whole number of at least 128. Default: the server's default, 1024. */
  readonly memoryMB?: number | undefined;
  /** Disk space of each sandbox, without the files of the template, in MiB, at least 64. Default: the server's default, 10240. */
  readonly diskSizeMB?: number | undefined;
}

export function requestBuild(
  api: ApiClient,
  name: string,
  tags: readonly string[] | undefined,
  { cpuCount, memoryMB, diskSizeMB }: BuildResources,
  options: RequestOptions,
): Promise<NewBuild> {
  return api.send({
    method: "POST",
    path: "/v3/templates",
    what: `request a build of template ${name}`,
    options,
    body: { name, tags, cpuCount, memoryMB, diskSizeMB } satisfies wire.TemplateBuildRequestV3,
    read: async (response) => {
      const json = unchecked<wire.TemplateRequestResponseV3>(await response.json());
      return { templateId: String(json.templateID), buildId: String(json.buildID), names: texts(json.names), tags: texts(json.tags) };
    },
  });
}

export interface UploadLink {
  readonly present: boolean;
  readonly url: string | undefined;
  readonly headers: Readonly<Record<string, string>>;
}

/** Where files of a COPY are to be put, and whether the server has them already. */
export function uploadLink(api: ApiClient, templateId: string, hash: string, options: RequestOptions): Promise<UploadLink> {
  return api.send({
    method: "GET",
    path: templatePath(templateId, `/files/${hash}`),
    what: "ask where to upload files",
    notFoundReason: NO_TEMPLATE,
    options,
    read: async (response) => {
      const { present, url, headers } = unchecked<wire.TemplateBuildFileUpload>(await response.json());
      return { present: present === true, url: text(url), headers: (headers ?? {}) as Record<string, string> };
    },
  });
}

/** A stage as it is sent. */
export type StartedStage = TemplateOrigin & {
  readonly name: string;
  readonly steps: readonly SentStep[];
  readonly onBuildDone?: readonly string[] | undefined;
};

export interface StartedSteps {
  readonly stages: readonly StartedStage[];
  readonly steps: readonly SentStep[];
  readonly secrets: Readonly<Record<string, string | { readonly stored: string }>>;
  /** Nothing is taken from the cache. */
  readonly force: boolean;
}

export function startBuild(
  api: ApiClient,
  ref: BuildRef,
  { startCmd, readyCmd, restrictions, startFromMemory, volumes, origin, onBuild = [], onBuildDone = [] }: TemplateParts,
  { stages, steps, secrets, force }: StartedSteps,
  options: RequestOptions,
): Promise<void> {
  return api.send({
    method: "POST",
    path: `/v2${templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}`)}`,
    what: "start the build",
    notFoundReason: NO_TEMPLATE,
    options,
    body: {
      ...origin,
      ...(stages.length > 0 ? { stages } : {}),
      ...(Object.keys(secrets).length > 0 ? { secrets } : {}),
      steps,
      force,
      ...(onBuild.length > 0 ? { onBuild } : {}),
      ...(onBuildDone.length > 0 ? { onBuildDone } : {}),
      ...(startCmd ? { startCmd } : {}),
      ...(readyCmd ? { readyCmd } : {}),
      ...(restrictions ? { restrictions } : {}),
      ...(startFromMemory === undefined ? {} : { startFromMemory }),
      ...(volumes ? { volumeMounts: mountsToJson(volumes) } : {}),
    },
    read: ignore,
  });
}

/** ONBUILD instructions of an image or a template. A server that does not know of them has none. */
export function triggersOf(api: ApiClient, origin: TemplateOrigin, options: RequestOptions): Promise<readonly string[]> {
  if ("fromArchive" in origin) return Promise.resolve([]);
  return api.send({
    method: "POST",
    path: "/boxyard/triggers",
    what: "ask for the triggers of an image",
    repeatable: true,
    options,
    accept: [404, 405],
    body: origin satisfies wire.TriggersRequest,
    read: async (response) => (response.ok ? texts(unchecked<wire.Triggers>(await response.json()).onBuild) : []),
  });
}

export function cancelBuild(api: ApiClient, ref: BuildRef, options: RequestOptions): Promise<void> {
  return api.send({
    method: "POST",
    path: templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}/cancel`),
    what: "cancel the build",
    notFoundReason: NO_TEMPLATE,
    repeatable: true,
    options,
    read: ignore,
  });
}

export function buildStatus(api: ApiClient, ref: BuildRef, logsOffset: number, options: RequestOptions): Promise<BuildStatus> {
  return api.send({
    method: "GET",
    path: templatePath(ref.templateId, `/builds/${encodeURIComponent(ref.buildId)}/status?logsOffset=${logsOffset}&limit=100`),
    what: "ask for the build's status",
    notFoundReason: "build_not_found",
    options,
    read: async (response) => buildFromJson(await response.json()),
  });
}

/** The id behind a name; undefined when there is no such template. A name that belongs to others is `taken`. */
export function resolveName(api: ApiClient, name: string, options: RequestOptions): Promise<string | "taken" | undefined> {
  return api.send({
    method: "GET",
    path: `/templates/aliases/${encodeURIComponent(name)}`,
    what: `look for template ${name}`,
    options,
    accept: [403, 404],
    read: async (response) => {
      if (response.status === 404) return undefined;
      return response.status === 403 ? "taken" : String(unchecked<wire.TemplateAliasResponse>(await response.json()).templateID);
    },
  });
}

export function listTemplates(api: ApiClient, limit: number | undefined, nextToken: string | undefined, options: RequestOptions) {
  const query = new URLSearchParams();
  if (limit !== undefined) query.set("limit", String(limit));
  if (nextToken) query.set("nextToken", nextToken);
  return api.send<Page<TemplateInfo>>({
    method: "GET",
    path: `/v2/templates${withQuery(query)}`,
    what: "list templates",
    options,
    read: async (response) => {
      const items = ((await response.json()) as unknown[]).map(templateFromJson);
      return { items, nextToken: response.headers.get("x-next-token") ?? undefined };
    },
  });
}

export function getTemplate(api: ApiClient, id: string, options: RequestOptions): Promise<TemplateInfo> {
  return api.send({
    method: "GET",
    path: templatePath(id),
    what: `look at template ${id}`,
    notFoundReason: NO_TEMPLATE,
    options,
    read: async (response) => templateFromJson(await response.json()),
  });
}

/** False when there was no such template. */
export function deleteTemplate(api: ApiClient, id: string, options: RequestOptions): Promise<boolean> {
  return api.send({
    method: "DELETE",
    path: templatePath(id),
    what: `delete template ${id}`,
    options,
    accept: [404],
    read: async (response, repeated) => response.status !== 404 || repeated,
  });
}

export function changeTemplate(api: ApiClient, id: string, settings: TemplateSettings, options: RequestOptions): Promise<void> {
  const { isPublic, retention, maxResources, idleTimeoutMs } = settings;
  return api.send({
    method: "PATCH",
    path: `/v2${templatePath(id)}`,
    what: `change template ${id}`,
    notFoundReason: NO_TEMPLATE,
    repeatable: true,
    options,
    body: {
      ...(isPublic !== undefined && { public: isPublic }),
      ...(retention && { retention }),
      ...(maxResources && { maxResources }),
      ...(idleTimeoutMs !== undefined && { idleTimeout: Math.ceil(idleTimeoutMs / 1000) }),
    } satisfies wire.TemplateUpdateRequest,
    read: ignore,
  });
}

export function listTags(api: ApiClient, id: string, options: RequestOptions): Promise<TemplateTag[]> {
  return api.send({
    method: "GET",
    path: templatePath(id, "/tags"),
    what: `list tags of template ${id}`,
    notFoundReason: NO_TEMPLATE,
    options,
    read: async (response) => ((await response.json()) as unknown[]).map(tagFromJson),
  });
}

export function assignTags(api: ApiClient, target: string, tags: readonly string[], options: RequestOptions): Promise<void> {
  return api.send({
    method: "POST",
    path: "/templates/tags",
    what: `tag ${target}`,
    notFoundReason: NO_TEMPLATE,
    repeatable: true,
    options,
    body: { target, tags },
    read: ignore,
  });
}

export function removeTags(api: ApiClient, name: string, tags: readonly string[], options: RequestOptions): Promise<void> {
  return api.send({
    method: "DELETE",
    path: "/templates/tags",
    what: `remove tags of ${name}`,
    notFoundReason: NO_TEMPLATE,
    options,
    body: { name, tags },
    read: ignore,
  });
}

/** The id behind a name; a tag stays with it, so that the server knows what is meant. */
export async function idOf(api: ApiClient, name: string): Promise<string> {
  const found = await resolveName(api, name, {});
  const [, tag = ""] = /(:[^:]*)$/.exec(name) ?? [];
  return found === undefined || found === "taken" ? name : found + tag;
}
