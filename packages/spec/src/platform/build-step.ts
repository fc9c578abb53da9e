import { z } from "zod";
import { named } from "../openapi.ts";

const MAX_SOURCES = 10_000;
export const MAX_SECRETS = 100;
const MAX_MOUNTS = 100;

export const stageName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,255}$/, "must be letters, digits and _ . : / @ -");

export const secretId = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, "must be letters, digits and _ . -");

/** What our own client adds for the sake of Dockerfiles; no other client sends these. */
const dockerfileFields = {
  fromStage: stageName.optional().meta({ description: "COPY: as `from`, but the files come from an earlier entry of `stages`" }),
  sources: z
    .array(
      z.object({
        path: z
          .string()
          .min(1, "must not be empty")
          .max(4096)
          .meta({ description: "Path of the source in the archive; with `from` and `fromStage` a pattern" }),
        name: z
          .string()
          .min(1, "must not be empty")
          .max(255)
          .optional()
          .meta({ description: "Name that a file gets when the destination is a directory" }),
        extract: z.boolean().optional().meta({ description: "The source is an archive, which is unpacked in the destination" }),
      }),
    )
    .min(1, "must not be empty")
    .max(MAX_SOURCES, `must hold at most ${MAX_SOURCES} paths`)
    .optional()
    .meta({ description: "COPY and ADD: what to copy in place of the first argument, with the meaning that Dockerfiles give it" }),
  env: z
    .record(z.string(), z.string())
    .optional()
    .meta({ description: "RUN: variables of this step alone; a variable of the template with the same name is used instead" }),
  secrets: z
    .array(
      z.object({
        id: secretId,
        target: z
          .string()
          .min(1, "must not be empty")
          .max(4096)
          .optional()
          .meta({ description: "Path of the secret's file; `/run/secrets/ID` by default" }),
        env: z
          .string()
          .min(1, "must not be empty")
          .max(256)
          .optional()
          .meta({ description: "Environment variable that holds the secret, in place of a file" }),
        mode: z
          .string()
          .regex(/^[0-7]{3,4}$/, "must be octal digits")
          .optional()
          .meta({ description: "Mode of the secret's file; `0400` by default" }),
        required: z.boolean().default(false),
      }),
    )
    .max(MAX_SECRETS, `must hold at most ${MAX_SECRETS} secrets`)
    .optional()
    .meta({ description: "RUN: secrets of the build that the command can read while it runs" }),
  mounts: z
    .array(
      z.object({
        type: z.enum(["cache", "bind"]),
        target: z.string().min(1, "must not be empty").max(4096).meta({ description: "Where the files are while the command runs" }),
        id: z
          .string()
          .min(1, "must not be empty")
          .max(256)
          .optional()
          .meta({ description: "cache: name of the cache; the target by default" }),
        owner: z
          .string()
          .regex(/^\d+:\d+$/, "must be UID:GID")
          .optional()
          .meta({ description: "cache: owner of the directory; `0:0` by default" }),
        mode: z
          .string()
          .regex(/^[0-7]{3,4}$/, "must be octal digits")
          .optional()
          .meta({ description: "cache: mode of the directory; `0755` by default" }),
        readonly: z
          .boolean()
          .optional()
          .meta({ description: "cache: the command can read the cache, and what it changes there is not kept" }),
        source: z
          .string()
          .min(1, "must not be empty")
          .max(4096)
          .optional()
          .meta({ description: "bind: path in the stage; `/` by default" }),
        fromStage: stageName.optional().meta({ description: "bind: name of the earlier entry of `stages` that the files come from" }),
        filesHash: z.string().optional().meta({ description: "bind: hash under which the files were uploaded" }),
        sources: z
          .array(z.object({ path: z.string().min(1).max(4096), name: z.string().min(1).max(255).optional() }))
          .max(1)
          .optional(),
      }),
    )
    .max(MAX_MOUNTS, `must hold at most ${MAX_MOUNTS} mounts`)
    .optional()
    .meta({ description: "RUN: files that the command can use while it runs, and that no layer keeps" }),
  text: z.string().max(8192).optional().meta({ description: "How logs show the step, in place of its type and arguments" }),
};

export const TemplateStep = z
  .object({
    type: z.string().meta({ description: "RUN, COPY, ADD, ENV, ARG, WORKDIR or USER", example: "RUN" }),
    args: z.array(z.string()).max(10_000).default([]),
    filesHash: z.string().optional().meta({ description: "COPY: hash under which the files were uploaded" }),
    from: z
      .string()
      .max(512)
      .optional()
      .meta({ description: "COPY: template that the files come from, in place of `filesHash`; the source is a path in that template" }),
    ...dockerfileFields,
    force: z.boolean().default(false),
  })
  .meta(named("TemplateStep"));
export type TemplateStep = z.infer<typeof TemplateStep>;
