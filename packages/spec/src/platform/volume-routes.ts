import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { body, errors, IdempotencyHeaders, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["Volumes"];

const MAX_VOLUME_NAME_LENGTH = 128;
/** 1 PiB. */
const MAX_VOLUME_MB = 1 << 30;

const VolumeName = z
  .string()
  .max(MAX_VOLUME_NAME_LENGTH, `must have at most ${MAX_VOLUME_NAME_LENGTH} characters`)
  .regex(/^[a-zA-Z0-9_-]+$/, "must be of letters, digits, '-' and '_'");

const SizeMB = () => z.int("must be a whole number").min(1, "must be at least 1").max(MAX_VOLUME_MB, `must be at most ${MAX_VOLUME_MB}`);

export const NewVolume = z
  .object({
    name: VolumeName.meta({ description: "One volume of a team has it" }),
    sizeMB: SizeMB()
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

export const VolumeDetail = z
  .object({
    ...VolumeAndToken.shape,
    sizeMB: z.int(),
    usedBytes: z.int().optional().meta({ description: "Absent where its files cannot be read" }),
    createdAt: z.string().meta({ format: "date-time" }),
  })
  .meta(named("VolumeDetail"));
export type VolumeDetail = z.infer<typeof VolumeDetail>;

export const VolumeChange = z
  .object({ sizeMB: SizeMB().meta({ description: "Most MiB that its files may take" }) })
  .meta(named("VolumeChange"));
export type VolumeChange = z.infer<typeof VolumeChange>;

const ImportQuery = z.object({
  name: VolumeName,
  sizeMB: z.coerce.number().pipe(SizeMB()).optional(),
});

const path = "/volumes/{volumeID}";
/** Operations of our own take a volume's name too. */
const ownPath = "/boxyard/volumes/{volume}";
const ownParams = z.object({ volume: pathParam("volume").meta({ description: "Id or name" }) });
const Tar = z.string().meta({ format: "binary" });
const tar = { "application/x-tar": { schema: Tar } };
const params = z.object({ volumeID: pathParam("volumeID") });

/** Volumes of the caller's team; their files are at `/volumecontent` (docs/contract/platform.md, Volumes). */
export const volumeRoutes = {
  createVolume: operation({
    method: "post",
    path: "/volumes",
    tags,
    ...allowed("sandboxes"),
    summary: "Create a volume",
    request: { headers: IdempotencyHeaders, body: body(NewVolume) },
    responses: { 201: json(VolumeAndToken, "Sandboxes can mount it"), ...errors(400, 404, 409, 422, 501) },
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
  lookAtVolume: operation({
    method: "get",
    path: ownPath,
    tags,
    ...allowed("sandboxes"),
    summary: "Get a volume by its id or name, with its size and use",
    request: { params: ownParams },
    responses: { 200: json(VolumeDetail, "The volume"), ...errors(404) },
  }),
  resizeVolume: operation({
    method: "patch",
    path: ownPath,
    tags,
    ...allowed("sandboxes"),
    summary: "Change the size of a volume; below what is in use it is refused, with the figure",
    request: { params: ownParams, body: body(VolumeChange) },
    responses: { 200: json(VolumeDetail, "The volume has this size"), ...errors(400, 404) },
  }),
  exportVolume: operation({
    method: "get",
    path: `${ownPath}/archive`,
    tags,
    ...allowed("sandboxes"),
    summary: "The files of a volume as a tar, as they are while they are read",
    request: { params: ownParams },
    responses: {
      200: {
        content: tar,
        description: "A tar; an answer that is too short for its chunks was broken off, with the cause in the server's log",
      },
      ...errors(404),
    },
  }),
  importVolume: operation({
    method: "post",
    path: "/boxyard/volumes",
    tags,
    ...allowed("sandboxes"),
    summary: "Create a volume of a tar, which gzip or zstd may have compressed: the whole volume, or none",
    request: { query: ImportQuery, body: { content: tar, required: true } },
    responses: { 201: json(VolumeDetail, "Sandboxes can mount it"), ...errors(400, 413, 501, 507) },
  }),
} as const;
