import { z } from "@hono/zod-openapi";

const MAX_SOURCES = 10_000;
export const MAX_SECRETS = 100;
const MAX_MOUNTS = 100;

export const stageName = z.string().regex(/^[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,255}$/, "must be letters, digits and _ . : / @ -");

export const secretId = z.string().regex(/^[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}$/, "must be letters, digits and _ . -");

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
