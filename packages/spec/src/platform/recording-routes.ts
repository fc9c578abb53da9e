import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { errors, json, none, operation, pathParam } from "./route-parts.ts";

const tags = ["Recordings"];

export const RecordingName = z.string().regex(/^[a-zA-Z0-9_-]{1,128}$/, "must be of letters, digits, '-' and '_', 128 at most");

const fields = {
  name: z.string(),
  createdAt: z.iso.datetime(),
  changedAt: z.iso.datetime().meta({ description: "When something was kept last" }),
  sizeBytes: z.int(),
  incomplete: z.string().optional().meta({
    description:
      "Why something is missing: `size` or `count`, a limit was reached; `disk`, it could not be written, or the rest of the disk is for others; `protocol`, a WebSocket or HTTP/2 passed, which is not kept",
  }),
  deleteAt: z.iso.datetime().optional().meta({ description: "When a rule of the team deletes it" }),
};
export const Recording = z.object(fields).meta(named("Recording"));
export type Recording = z.infer<typeof Recording>;

const Exchange = z
  .object({
    timestamp: z.iso.datetime(),
    method: z.string(),
    url: z.string(),
    status: z.int(),
    sizeBytes: z.int().meta({ description: "Of the answer's body, as it was sent" }),
    durationMs: z.int(),
  })
  .meta(named("RecordedExchange"));

const RecordingDetail = z
  .object({
    ...fields,
    count: z.int().meta({ description: "Exchanges" }),
    exchanges: z.array(Exchange).meta({ description: "The newest, oldest first" }),
  })
  .meta(named("RecordingDetail"));
export type RecordingDetail = z.infer<typeof RecordingDetail>;

const ImportedRecording = z
  .object({
    ...fields,
    count: z.int().meta({ description: "Exchanges" }),
    skipped: z.int().meta({ description: "Entries of the archive that are no exchanges by HTTP with an answer" }),
  })
  .meta(named("ImportedRecording"));
export type ImportedRecording = z.infer<typeof ImportedRecording>;

const DetailQuery = z.object({
  limit: z.coerce
    .number()
    .int()
    .min(0, "must be from 0 to 1000")
    .max(1000, "must be from 0 to 1000")
    .default(100)
    .meta({ description: "Exchanges that are shown, the newest" }),
});
const ImportQuery = z.object({ name: RecordingName });

const path = "/boxyard/recordings/{recording}";
const params = z.object({ recording: pathParam("recording").meta({ description: "Its name" }) });
const har = { "application/har+json": { schema: z.string().meta({ format: "binary" }) } };

/** Recordings of exchanges by HTTP, of the caller's team (docs/recordings.md). */
export const recordingRoutes = {
  listRecordings: operation({
    method: "get",
    path: "/boxyard/recordings",
    tags,
    ...allowed("read"),
    summary: "List the recordings of exchanges by HTTP",
    responses: { 200: json(z.array(Recording), "Oldest first"), ...errors() },
  }),
  getRecording: operation({
    method: "get",
    path,
    tags,
    ...allowed("sandboxes"),
    summary: "Get a recording and what it has",
    request: { params, query: DetailQuery },
    responses: { 200: json(RecordingDetail, "The recording"), ...errors(400, 404) },
  }),
  deleteRecording: operation({
    method: "delete",
    path,
    tags,
    ...allowed("sandboxes"),
    summary: "Delete a recording that no sandbox uses",
    request: { params },
    responses: { 204: none("Deleted"), ...errors(404, 409) },
  }),
  exportRecording: operation({
    method: "get",
    path: `${path}/har`,
    tags,
    ...allowed("sandboxes"),
    summary: "A recording as an archive of exchanges (HAR 1.2)",
    request: { params },
    responses: {
      200: {
        content: har,
        description: "An archive; an answer that is too short for its chunks was broken off, with the cause in the server's log",
      },
      ...errors(404),
    },
  }),
  importRecording: operation({
    method: "post",
    path: "/boxyard/recordings",
    tags,
    ...allowed("sandboxes"),
    summary: "Make a recording of an archive of exchanges (HAR), or nothing",
    request: { query: ImportQuery, body: { content: har, required: true } },
    responses: { 201: json(ImportedRecording, "Sandboxes can replay it"), ...errors(400, 409, 413, 507) },
  }),
} as const;
