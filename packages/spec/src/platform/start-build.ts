import { z } from "zod";
import { named } from "../openapi.ts";
import { MAX_SECRETS, secretId, stageName, TemplateStep } from "./build-step.ts";
import { VolumeMount } from "./sandbox.ts";

const MAX_STEPS = 1000;
/** ONBUILD of one image, and of each the bytes. */
const MAX_TRIGGERS = 100;
const MAX_TRIGGER = 1 << 16;
const MAX_STAGES = 100;
const MAX_SECRET_LENGTH = 1 << 16;

export const RegistryAccess = z
  .discriminatedUnion("type", [
    z.object({ type: z.literal("registry"), username: z.string(), password: z.string() }),
    z.object({ type: z.literal("aws"), awsAccessKeyId: z.string(), awsSecretAccessKey: z.string(), awsRegion: z.string() }),
    z.object({ type: z.literal("gcp"), serviceAccountJson: z.string() }),
  ])
  .meta(named("FromImageRegistry"));
export type RegistryAccess = z.infer<typeof RegistryAccess>;

/** An instruction, as the configuration of an image has it. */
const triggers = z.array(z.string().max(MAX_TRIGGER)).max(MAX_TRIGGERS, `must hold at most ${MAX_TRIGGERS} instructions`).default([]);
const onBuildDone = triggers.meta({
  description: "Those ONBUILD instructions of the image or template that the client has put among the steps",
});

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
  .meta(named("TemplateBuildStage"));
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
  .meta({
    ...named("TemplateRestrictions"),
    description:
      "Restrictions of the template's sandboxes. noNewPrivileges: neither set-user-id programs (sudo) nor file capabilities work; " +
      "noPtrace: their root has no CAP_SYS_PTRACE; maxOpenFiles: files that one process may have open, no more than the server allows. " +
      "A restriction that is left out is that of the template that the build begins with",
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
      .meta({ description: "Hash of an uploaded OCI archive, in place of an image. Archives are uploaded as the files of COPY are" }),
    force: z.boolean().default(false),
    onBuild: triggers.meta({
      description: "ONBUILD instructions, for templates that are built on this one; `getTriggers` returns them",
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
    startFromMemory: z.boolean().default(true).meta({
      description:
        "True: sandboxes start from the memory of a sandbox whose start command is ready, on servers that can restore memory. False: each sandbox runs the start command",
    }),
    volumeMounts: z.array(VolumeMount).default([]).meta({
      description:
        "Volumes that each sandbox of the template gets, looked up by name when it is created; its own mount at the same path replaces one",
    }),
    secrets: z
      .record(
        secretId,
        z.union([
          z.string().max(MAX_SECRET_LENGTH, `must have at most ${MAX_SECRET_LENGTH} characters`),
          z.object({ stored: z.string().max(128, "must have at most 128 characters") }),
        ]),
      )
      .refine((secrets) => Object.keys(secrets).length <= MAX_SECRETS, `must hold at most ${MAX_SECRETS} secrets`)
      .default({})
      .meta({
        description:
          "Values of the secrets that steps name, or `stored`: the name or id of one of `/secrets`. They are removed from logs, and the build stores none",
      }),
    stages: z.array(BuildStage).max(MAX_STAGES, `must hold at most ${MAX_STAGES} stages`).default([]),
  })
  .meta(named("TemplateBuildStartV2"));
export type StartBuild = z.infer<typeof StartBuild>;
