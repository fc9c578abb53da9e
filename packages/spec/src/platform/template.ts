import { z } from "@hono/zod-openapi";

/** Longest name with its tag, and longest alias (docs/contract/templates.md, Names and tags). */
export const MAX_NAME_LENGTH = 128;
const MAX_INT32 = 2 ** 31 - 1;
/** With less a sandbox can't do its first work: its agent and shell write a little too. */
const MIN_DISK_MB = 64;
const MAX_TAGS = 100;
const MAX_STEPS = 1000;
/** ONBUILD of one image, and of each the bytes. */
const MAX_TRIGGERS = 100;
const MAX_TRIGGER = 1 << 16;
const MAX_STAGES = 100;
const MAX_SOURCES = 10_000;
const MAX_SECRETS = 100;
const MAX_MOUNTS = 100;
const MAX_SECRET_LENGTH = 1 << 16;

const name = z.string().max(MAX_NAME_LENGTH, `must have at most ${MAX_NAME_LENGTH} characters`);
const tagList = z.array(z.string()).max(MAX_TAGS, `must hold at most ${MAX_TAGS} tags`);
const atLeast = (min: number, what: string) =>
  z.int("must be a whole number").min(min, `${what} must be at least ${min}`).max(MAX_INT32, "is too large");

/** Interface document 2.6. */
export const NewTemplate = z
  .object({
    name: name.optional().openapi({ description: "`[namespace/]name[:tag]`; a tag counts as one of `tags`" }),
    tags: tagList.optional().openapi({ description: "Tags of the build; `default` when there is none" }),
    alias: name.optional().openapi({ deprecated: true, description: "Use `name`" }),
    teamID: z.string().max(256, "is too long").optional().openapi({ deprecated: true, description: "The API key decides" }),
    cpuCount: atLeast(1, "CPU count")
      .optional()
      .openapi({ description: "Of more than the server's machine has, sandboxes get what it has" }),
    memoryMB: atLeast(128, "Memory in MiB").optional(),
    diskSizeMB: atLeast(MIN_DISK_MB, "Disk in MiB").optional().openapi({
      description:
        "What a sandbox may write beside the template's own files; 10240 by default. Of more than the pool has, they get what it has",
    }),
    minFreeDiskMb: atLeast(0, "Free disk in MiB").optional().openapi({ description: "Makes the disk at least so large; never smaller" }),
  })
  .openapi("TemplateBuildRequestV3");
export type NewTemplate = z.infer<typeof NewTemplate>;

/** Interface document 2.7. */
export const RequestedTemplate = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    public: z.boolean(),
    names: z.array(z.string()),
    tags: z.array(z.string()),
    aliases: z.array(z.string()).openapi({ deprecated: true }),
  })
  .openapi("TemplateRequestResponseV3");
export type RequestedTemplate = z.infer<typeof RequestedTemplate>;

const stageName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,255}$/, "must be letters, digits and _ . : / @ -");

const secretId = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, "must be letters, digits and _ . -");

/** What our own client adds for the sake of Dockerfiles; no other client sends these. */
const dockerfileFields = {
  fromStage: stageName.optional().openapi({ description: "COPY: as `from`, out of an earlier one of `stages`" }),
  sources: z
    .array(
      z.object({
        path: z
          .string()
          .min(1, "must not be empty")
          .max(4096)
          .openapi({ description: "In the archive; of `from` and `fromStage` a pattern" }),
        name: z
          .string()
          .min(1, "must not be empty")
          .max(255)
          .optional()
          .openapi({ description: "Under which a file arrives in a directory" }),
        extract: z.boolean().optional().openapi({ description: "It is an archive to be unpacked in the destination" }),
      }),
    )
    .min(1, "must not be empty")
    .max(MAX_SOURCES, `must hold at most ${MAX_SOURCES} paths`)
    .optional()
    .openapi({ description: "COPY and ADD: what to copy in place of the first argument, with the meaning that Dockerfiles give it" }),
  env: z.record(z.string(), z.string()).optional().openapi({ description: "RUN: variables of this step alone; the template's own win" }),
  secrets: z
    .array(
      z.object({
        id: secretId,
        target: z.string().min(1, "must not be empty").max(4096).optional().openapi({ description: "Path of its file, `/run/secrets/ID`" }),
        env: z
          .string()
          .min(1, "must not be empty")
          .max(256)
          .optional()
          .openapi({ description: "Variable that has it, in place of a file" }),
        mode: z
          .string()
          .regex(/^[0-7]{3,4}$/, "must be octal digits")
          .optional()
          .openapi({ description: "Of the file, `0400`" }),
        required: z.boolean().default(false),
      }),
    )
    .max(MAX_SECRETS, `must hold at most ${MAX_SECRETS} secrets`)
    .optional()
    .openapi({ description: "RUN: secrets of the build that are there while it runs" }),
  mounts: z
    .array(
      z.object({
        type: z.enum(["cache", "bind"]),
        target: z.string().min(1, "must not be empty").max(4096).openapi({ description: "Where the files are while the command runs" }),
        id: z.string().min(1, "must not be empty").max(256).optional().openapi({ description: "cache: its name, the target by default" }),
        owner: z
          .string()
          .regex(/^\d+:\d+$/, "must be UID:GID")
          .optional()
          .openapi({ description: "cache: owner of the directory, `0:0`" }),
        mode: z
          .string()
          .regex(/^[0-7]{3,4}$/, "must be octal digits")
          .optional()
          .openapi({ description: "cache: of the directory, `0755`" }),
        readonly: z.boolean().optional().openapi({ description: "cache: what the command changes is not kept" }),
        source: z.string().min(1, "must not be empty").max(4096).optional().openapi({ description: "bind: path in the stage, `/`" }),
        fromStage: stageName.optional().openapi({ description: "bind: out of an earlier one of `stages`" }),
        filesHash: z.string().optional().openapi({ description: "bind: hash under which the files were uploaded" }),
        sources: z
          .array(z.object({ path: z.string().min(1).max(4096), name: z.string().min(1).max(255).optional() }))
          .max(1)
          .optional(),
      }),
    )
    .max(MAX_MOUNTS, `must hold at most ${MAX_MOUNTS} mounts`)
    .optional()
    .openapi({ description: "RUN: files that are there while it runs and enter no layer" }),
  text: z.string().max(8192).optional().openapi({ description: "How logs show the step, in place of its type and arguments" }),
};

export const TemplateStep = z
  .object({
    type: z.string().openapi({ description: "RUN, COPY, ADD, ENV, ARG, WORKDIR or USER", example: "RUN" }),
    args: z.array(z.string()).max(10_000).default([]),
    filesHash: z.string().optional().openapi({ description: "COPY: hash under which the files were uploaded" }),
    from: z
      .string()
      .max(512)
      .optional()
      .openapi({ description: "COPY: template out of whose files it copies, in place of `filesHash`; the source is a path in it" }),
    ...dockerfileFields,
    force: z.boolean().default(false),
  })
  .openapi("TemplateStep");
export type TemplateStep = z.infer<typeof TemplateStep>;

export const RegistryAccess = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("registry"), username: z.string(), password: z.string() }),
    z.object({ type: z.literal("aws"), awsAccessKeyId: z.string(), awsSecretAccessKey: z.string(), awsRegion: z.string() }),
    z.object({ type: z.literal("gcp"), serviceAccountJson: z.string() }),
  ])
  .openapi("FromImageRegistry");
export type RegistryAccess = z.infer<typeof RegistryAccess>;

/** An instruction, as the configuration of an image has it. */
const triggers = z.array(z.string().max(MAX_TRIGGER)).max(MAX_TRIGGERS, `must hold at most ${MAX_TRIGGERS} instructions`).default([]);
const onBuildDone = triggers.openapi({ description: "Of the image's or template's ONBUILD instructions those that are among the steps" });

/** A stage of a Dockerfile: steps whose files later stages, and the template itself, copy out. */
const BuildStage = z
  .object({
    name: stageName,
    fromImage: z.string().min(1, "must not be empty").max(1024).optional(),
    fromTemplate: z.string().min(1, "must not be empty").max(512).optional(),
    fromImageRegistry: RegistryAccess.optional(),
    onBuildDone,
    steps: z.array(TemplateStep).max(MAX_STEPS, `must hold at most ${MAX_STEPS} steps`).default([]),
  })
  .openapi("TemplateBuildStage");
export type BuildStage = z.infer<typeof BuildStage>;

/** The agent needs as many as it has always had; no kernel is set up for more than a million in one process. */
const LEAST_OPEN_FILES = 1_024;
const MOST_OPEN_FILES = 1_048_576;

export const Restrictions = z
  .object({
    noNewPrivileges: z.boolean().optional(),
    noPtrace: z.boolean().optional(),
    maxOpenFiles: z
      .number()
      .int()
      .min(LEAST_OPEN_FILES, `must be at least ${LEAST_OPEN_FILES}`)
      .max(MOST_OPEN_FILES, `must be at most ${MOST_OPEN_FILES}`)
      .optional(),
  })
  .strict()
  .openapi("TemplateRestrictions", {
    description:
      "What sandboxes of the template do without. noNewPrivileges: neither set-user-id programs (sudo) nor file capabilities work; " +
      "noPtrace: their root has no CAP_SYS_PTRACE; maxOpenFiles: files that one process may have open, no more than the server allows. " +
      "Each that is left out: as the template has it that it is made from",
  });
export type Restrictions = z.infer<typeof Restrictions>;

export const StartBuild = z
  .object({
    fromImage: z.string().min(1, "must not be empty").max(1024).optional(),
    fromTemplate: z.string().min(1, "must not be empty").max(512).optional(),
    fromImageRegistry: RegistryAccess.optional(),
    fromArchive: z
      .string()
      .optional()
      .openapi({ description: "OCI archive in place of an image: the hash under which it was uploaded, as files of COPY are" }),
    force: z.boolean().default(false),
    onBuild: triggers.openapi({
      description: "Instructions of a Dockerfile for those that build on the template; `getTriggers` gives them",
    }),
    onBuildDone,
    steps: z.array(TemplateStep).max(MAX_STEPS, `must hold at most ${MAX_STEPS} steps`).default([]),
    startCmd: z
      .string()
      .max(1 << 17)
      .optional(),
    readyCmd: z
      .string()
      .max(1 << 17)
      .optional(),
    restrictions: Restrictions.optional(),
    startFromMemory: z.boolean().default(true).openapi({
      description:
        "Sandboxes start from the memory of one in which the start command is ready, where the server can; false: each runs the start command",
    }),
    secrets: z
      .record(secretId, z.string().max(MAX_SECRET_LENGTH, `must have at most ${MAX_SECRET_LENGTH} characters`))
      .refine((secrets) => Object.keys(secrets).length <= MAX_SECRETS, `must hold at most ${MAX_SECRETS} secrets`)
      .default({})
      .openapi({ description: "For steps that ask for them; kept nowhere, and taken out of logs" }),
    stages: z.array(BuildStage).max(MAX_STAGES, `must hold at most ${MAX_STAGES} stages`).default([]),
  })
  .openapi("TemplateBuildStartV2");
export type StartBuild = z.infer<typeof StartBuild>;

export const BuildFiles = z
  .object({ present: z.boolean(), url: z.string().optional(), headers: z.record(z.string(), z.string()).optional() })
  .openapi("TemplateBuildFileUpload");

const BuildStatusName = z.enum(["waiting", "building", "ready", "error"]).openapi("TemplateBuildStatus");
export const LogLevel = z.enum(["debug", "info", "warn", "error"]).openapi("LogLevel");
export type LogLevel = z.infer<typeof LogLevel>;

export const BuildLogEntry = z
  .object({ timestamp: z.iso.datetime(), message: z.string(), level: LogLevel, step: z.string().optional() })
  .openapi("BuildLogEntry");
export type BuildLogEntry = z.infer<typeof BuildLogEntry>;

export const BuildInfo = z
  .object({
    templateID: z.string(),
    buildID: z.string(),
    status: BuildStatusName,
    logs: z.array(z.string()),
    logEntries: z.array(BuildLogEntry),
    reason: z.object({ message: z.string(), step: z.string().optional(), logEntries: z.array(BuildLogEntry) }).optional(),
  })
  .openapi("TemplateBuildInfo");
export type BuildInfo = z.infer<typeof BuildInfo>;

const pageSize = z.coerce.number().int().min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(100);
const count = z.coerce.number("must be a number").int("must be a whole number").min(0, "must not be negative");

export const BuildStatusQuery = z.object({ logsOffset: count.default(0), limit: pageSize, level: LogLevel.optional() });
export const BuildLogsQuery = z.object({
  cursor: count.optional().openapi({ description: "Milliseconds since 1970" }),
  limit: pageSize,
  direction: z.enum(["forward", "backward"]).default("forward"),
  level: LogLevel.optional(),
  source: z.string().optional(),
});
export const BuildLogs = z.object({ logs: z.array(BuildLogEntry) }).openapi("TemplateBuildLogsResponse");

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
  filesMissing: z.boolean().optional().openapi({
    description: "True: its files are lost with the storage pool that they were in; build it again. `buildStatus` is `error` then",
  }),
};
export const ListedTemplate = z.object(templateFields).openapi("Template");
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
  })
  .openapi("TemplateBuild");
export type ListedBuild = z.infer<typeof ListedBuild>;
export const TemplateWithBuilds = z.object({ ...templateFields, builds: z.array(ListedBuild) }).openapi("TemplateWithBuilds");

export const TemplatesQuery = z.object({ teamID: z.string().max(256).optional() });
export const TemplatesPageQuery = z.object({
  teamID: z.string().max(256).optional(),
  limit: pageSize,
  nextToken: z.string().max(512).optional(),
});
export const BuildsPageQuery = z.object({ limit: pageSize, nextToken: z.string().max(512).optional() });

export const TemplateChange = z.object({ public: z.boolean().optional() }).openapi("TemplateUpdateRequest");
export type TemplateChange = z.infer<typeof TemplateChange>;
export const TemplateNames = z.object({ names: z.array(z.string()) }).openapi("TemplateUpdateResponse");
export const TemplateAlias = z.object({ templateID: z.string(), public: z.boolean() }).openapi("TemplateAliasResponse");

export const AssignTags = z
  .object({ target: z.string().min(1, "must not be empty").max(512), tags: tagList.min(1, "must not be empty") })
  .openapi("AssignTemplateTagsRequest");
export const AssignedTags = z.object({ tags: z.array(z.string()), buildID: z.string() }).openapi("AssignedTemplateTags");
export const RemoveTags = z
  .object({ name: z.string().min(1, "must not be empty").max(512), tags: tagList.min(1, "must not be empty") })
  .openapi("DeleteTemplateTagsRequest");
export const TemplateTag = z.object({ tag: z.string(), buildID: z.string(), createdAt: time }).openapi("TemplateTag");
export const TagQuery = z.object({ tag: z.string().min(1, "must not be empty").max(256) });
export const TagExists = z.object({ exists: z.boolean(), normalizedTag: z.string() }).openapi("TemplateTagExists");
export const TagCount = z.object({ total: z.int() }).openapi("TemplateTagCount");

const path = (param: string) => z.string().openapi({ param: { name: param, in: "path" } });
export const TemplatePath = z.object({ templateID: path("templateID") });
export const BuildPath = z.object({ templateID: path("templateID"), buildID: path("buildID") });
export const FilesPath = z.object({ templateID: path("templateID"), hash: path("hash") });
export const AliasPath = z.object({ alias: path("alias") });
