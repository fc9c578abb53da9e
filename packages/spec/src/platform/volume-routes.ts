import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { body, errors, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["Volumes"];

const MAX_VOLUME_NAME_LENGTH = 128;
/** 1 PiB. */
const MAX_VOLUME_MB = 1 << 30;

const VolumeName = z
  .string()
  .max(MAX_VOLUME_NAME_LENGTH, `must have at most ${MAX_VOLUME_NAME_LENGTH} characters`)
  .regex(/^[a-zA-Z0-9_-]+$/, "must be of letters, digits, '-' and '_'");

export const NewVolume = z
  .object({
    name: VolumeName.meta({ description: "One volume of a team has it" }),
    sizeMB: z
      .int("must be a whole number")
      .min(1, "must be at least 1")
      .max(MAX_VOLUME_MB, `must be at most ${MAX_VOLUME_MB}`)
      .optional()
      .meta({ description: "Most MiB that its files may take; BOXYARD_VOLUME_MB by default, and for a copy the size of its source" }),
    from: VolumeName.optional().meta({ description: "Name of a volume of which it begins as a copy" }),
  })
  .meta(named("NewVolume"));
export type NewVolume = z.infer<typeof NewVolume>;

const fields = { volumeID: z.string(), name: z.string() };
export const VolumeAndToken = z
  .object({
    ...fields,
    token: z.string().meta({ description: "The right to the files of the volume, for `/volumecontent/{volumeID}`" }),
    domain: z.string().optional(),
  })
  .meta(named("VolumeAndToken"));
export type VolumeAndToken = z.infer<typeof VolumeAndToken>;

export const ListedVolume = z
  .object({
    ...fields,
    sizeMB: z.int(),
    usedBytes: z.int().optional().meta({ description: "Absent where its files cannot be read" }),
  })
  .meta(named("Volume"));
export type ListedVolume = z.infer<typeof ListedVolume>;

const path = "/volumes/{volumeID}";
const params = z.object({ volumeID: pathParam("volumeID") });

/** Volumes of the caller's team; their files are at `/volumecontent` (docs/contract/platform.md, Volumes). */
export const volumeRoutes = {
  createVolume: operation({
    method: "post",
    path: "/volumes",
    tags,
    ...allowed("sandboxes"),
    summary: "Create a volume",
    request: { body: body(NewVolume) },
    responses: { 201: json(VolumeAndToken, "Sandboxes can mount it"), ...errors(400, 404, 501) },
  }),
  listVolumes: operation({
    method: "get",
    path: "/volumes",
    tags,
    ...allowed("read"),
    summary: "List volumes",
    responses: { 200: json(z.array(ListedVolume), "Oldest first"), ...errors() },
  }),
  getVolume: operation({
    method: "get",
    path,
    tags,
    ...allowed("sandboxes"),
    summary: "Get a volume and its token",
    request: { params },
    responses: { 200: json(VolumeAndToken, "The volume"), ...errors(404) },
  }),
  deleteVolume: operation({
    method: "delete",
    path,
    tags,
    ...allowed("sandboxes"),
    summary: "Delete a volume with its files",
    request: { params },
    responses: { 204: none("Deleted"), ...errors(404, 409) },
  }),
} as const;
