import { z } from "zod";
import { named } from "../openapi.ts";
import { BuildStatusName } from "./build-info.ts";
import { Seconds } from "./common.ts";
import { MaxResources, Retention } from "./retention.ts";
import { pageSize, pathParam } from "./route-parts.ts";

/** Longest name with its tag, and longest alias (docs/contract/templates.md, Names and tags). */
export const MAX_NAME_LENGTH = 128;
const MAX_INT32 = 2 ** 31 - 1;
/** With less a sandbox can't do its first work: its agent and shell write a little too. */
const MIN_DISK_MB = 64;
const MAX_TAGS = 100;

const name = z.string().max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`);
const tagList = z.array(z.string()).max(MAX_TAGS, `must hold at most ${MAX_TAGS} tags`);
const atLeast = (min: number, what: string) =>
  z.int("must be a whole number").min(min, `${what} must be at least ${min}`).max(MAX_INT32, "is too large");

/** Interface document 2.6. */
export const NewTemplate = z
  .object({
    name: name.optional().meta({ description: "`[namespace/]name[:tag]`; a tag counts as one of `tags`" }),
    tags: tagList.optional().meta({ description: "Tags of the build; `default` when there is none" }),
    alias: name.optional().meta({ deprecated: true, description: "Use `name`" }),
    teamID: z
      .string()
      .max(256, "is too long")
      .optional()
      .meta({ deprecated: true, description: "Not used: the API key says whose templates are meant" }),
    cpuCount: atLeast(1, "CPU count")
      .optional()
      .meta({ description: "Number of processors. With a number above the machine's, sandboxes get all of the machine's" }),
    memoryMB: atLeast(128, "Memory in MiB").optional(),
    diskSizeMB: atLeast(MIN_DISK_MB, "Disk in MiB").optional().meta({
      description:
        "What a sandbox may write beside the template's own files; 10240 by default. When this is more than the pool has, sandboxes get what the pool has",
    }),
    minFreeDiskMb: atLeast(0, "Free disk in MiB")
      .optional()
      .meta({ description: "Minimum size of the disk; a smaller value does not shrink it" }),
  })
  .meta(named("TemplateBuildRequestV3"));
export type NewTemplate = z.infer<typeof NewTemplate>;

/** Interface document 2.7. */
export const RequestedTemplate = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    public: z.boolean(),
    names: z.array(z.string()),
    tags: z.array(z.string()),
    aliases: z.array(z.string()).meta({ deprecated: true }),
  })
  .meta(named("TemplateRequestResponseV3"));
export type RequestedTemplate = z.infer<typeof RequestedTemplate>;

const time = z.iso.datetime();
const templateFields = {
  templateID: z.string(),
  public: z.boolean(),
  aliases: z.array(z.string()),
  names: z.array(z.string()),
  createdAt: time,
  updatedAt: time,
  lastSpawnedAt: time.nullable(),
  spawnCount: z.int(),
  buildID: z.string(),
  cpuCount: z.number(),
  memoryMB: z.int(),
  diskSizeMB: z.int(),
  createdBy: z.object({ id: z.string(), email: z.string() }).nullable(),
  buildCount: z.int(),
  envdVersion: z.string(),
  buildStatus: BuildStatusName,
  retention: Retention.optional(),
  maxResources: MaxResources.optional(),
  idleTimeout: z.int().optional().meta({ description: "Seconds" }),
  filesMissing: z.boolean().optional().meta({
    description: "True: the template's files were in a storage pool that is lost. Build the template again. `buildStatus` is `error` then",
  }),
};
export const ListedTemplate = z.object(templateFields).meta(named("Template"));
export type ListedTemplate = z.infer<typeof ListedTemplate>;

export const ListedBuild = z
  .object({
    buildID: z.string(),
    status: BuildStatusName,
    createdAt: time,
    updatedAt: time,
    finishedAt: time.optional(),
    cpuCount: z.number(),
    memoryMB: z.int(),
    diskSizeMB: z.int().optional(),
    envdVersion: z.string().optional(),
    deleteAt: time.optional().meta({ description: "When a rule of retention deletes it; only of a build without a tag" }),
  })
  .meta(named("TemplateBuild"));
export type ListedBuild = z.infer<typeof ListedBuild>;
export const TemplateWithBuilds = z.object({ ...templateFields, builds: z.array(ListedBuild) }).meta(named("TemplateWithBuilds"));

export const TemplateLayers = z
  .object({
    buildID: z.string().meta({ description: "Empty: no build of it is ready" }),
    layers: z.array(
      z.object({
        digest: z.string(),
        sizeBytes: z
          .int()
          .optional()
          .meta({ description: "Of its files as a tar, uncompressed. Absent: the layer is not on this machine" }),
        createdAt: time.optional(),
        templates: z.array(z.string()).meta({ description: "Ids of the team's other templates that have it too, 100 at most" }),
      }),
    ),
  })
  .meta(named("TemplateLayers"));
export type TemplateLayers = z.infer<typeof TemplateLayers>;

export const TemplatesQuery = z.object({ teamID: z.string().max(256).optional() });
export const TemplatesPageQuery = z.object({
  teamID: z.string().max(256).optional(),
  limit: pageSize,
  nextToken: z.string().max(512).optional(),
});
export const BuildsPageQuery = z.object({ limit: pageSize, nextToken: z.string().max(512).optional() });

const settings = {
  retention: Retention.optional().meta({
    description:
      "Rules for what was made of the template, in place of the team's rules of the same kinds; replaces all of them, and empty ones are none",
  }),
  maxResources: MaxResources.optional().meta({
    description: "The most that a sandbox of it may have; replaces what was set, and an empty one is none",
  }),
  idleTimeout: Seconds.optional().meta({ description: "Idle time of sandboxes for which none is asked; 0: none" }),
};
export const TemplateChange = z.object({ public: z.boolean().optional(), ...settings }).meta(named("TemplateUpdateRequest"));
export type TemplateChange = z.infer<typeof TemplateChange>;
export const TemplateNames = z.object({ names: z.array(z.string()) }).meta(named("TemplateUpdateResponse"));
export const TemplateAlias = z.object({ templateID: z.string(), public: z.boolean() }).meta(named("TemplateAliasResponse"));

export const AssignTags = z
  .object({ target: z.string().min(1, "must not be empty").max(512), tags: tagList.min(1, "must not be empty") })
  .meta(named("AssignTemplateTagsRequest"));
export const AssignedTags = z.object({ tags: z.array(z.string()), buildID: z.string() }).meta(named("AssignedTemplateTags"));
export const RemoveTags = z
  .object({ name: z.string().min(1, "must not be empty").max(512), tags: tagList.min(1, "must not be empty") })
  .meta(named("DeleteTemplateTagsRequest"));
export const TemplateTag = z.object({ tag: z.string(), buildID: z.string(), createdAt: time }).meta(named("TemplateTag"));
export const TagQuery = z.object({ tag: z.string().min(1, "must not be empty").max(256) });
export const TagExists = z.object({ exists: z.boolean(), normalizedTag: z.string() }).meta(named("TemplateTagExists"));
export const TagCount = z.object({ total: z.int() }).meta(named("TemplateTagCount"));

export const TemplatePath = z.object({ templateID: pathParam("templateID") });
export const AliasPath = z.object({ alias: pathParam("alias") });
