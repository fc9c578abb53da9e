import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { SandboxPath, Seconds } from "./common.ts";
import { body, errors, IdempotencyHeaders, json, none, operation, page } from "./route-parts.ts";
import { Sandbox, VolumeMount } from "./sandbox.ts";

const tags = ["Sandboxes"];

const SandboxPause = z
  .object({ memory: z.boolean().default(true), requireHealthyGuest: z.boolean().default(false) })
  .meta(named("SandboxPauseRequest"));
const SandboxFork = z
  .object({
    timeout: Seconds.default(300),
    count: z.int("must be a whole number").min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(1),
  })
  .meta(named("SandboxForkRequest"));
export const SandboxForkResult = z
  .object({ sandbox: Sandbox.optional(), error: z.object({ code: z.int(), message: z.string() }).optional() })
  .meta(named("SandboxForkResult"));
const SandboxRollback = z
  .object({
    snapshotID: z.string().meta({ description: "Id of a snapshot of this sandbox, or of the snapshot that it was created from" }),
  })
  .meta(named("SandboxRollbackRequest"));
const RolledBack = z
  .object({
    volumeMounts: z.array(VolumeMount).optional().meta({ description: "Its volumes, whose files are as before; absent without" }),
  })
  .meta(named("SandboxRollbackResult"));
const NewSnapshot = z
  .object({ name: z.string().max(128).optional(), memory: z.boolean().default(true) })
  .meta(named("SandboxSnapshotRequest"));
export const SnapshotInfo = z
  .object({
    snapshotID: z.string(),
    names: z.array(z.string()),
    sandboxID: z.string().meta({ description: "The sandbox that it was made of, which may have ended" }),
    createdAt: z.iso.datetime(),
    sizeBytes: z
      .int()
      .min(0)
      .optional()
      .meta({ description: "What it holds of memory and disk beside the layers of its template; absent where that is not known" }),
    deleteAt: z.iso.datetime().optional().meta({ description: "When a rule of retention deletes it" }),
    volumeMounts: z
      .array(VolumeMount)
      .optional()
      .meta({ description: "Volumes of its sandbox, whose files it does not keep; absent without" }),
  })
  .meta(named("SnapshotInfo"));
const SnapshotsQuery = z.object({
  sandboxID: z.string().optional(),
  name: z.string().optional(),
  limit: z.coerce.number().int().min(1, "must be from 1 to 100").max(100, "must be from 1 to 100").default(100),
  nextToken: z.string().max(512).optional(),
});

/** What keeps a sandbox, to go on with it or to make others from it (docs/contract/platform.md). 501 where the driver cannot. */
export const snapshotRoutes = {
  pauseSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/pause",
    tags,
    ...allowed("sandboxes"),
    summary: "Pause a sandbox",
    request: { params: SandboxPath, body: body(SandboxPause, false) },
    responses: { 204: none("The sandbox is paused"), ...errors(400, 404, 409, 501) },
  }),
  forkSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/fork",
    tags,
    ...allowed("sandboxes"),
    summary: "Make copies of a running sandbox",
    request: { params: SandboxPath, headers: IdempotencyHeaders, body: body(SandboxFork, false) },
    responses: { 201: json(z.array(SandboxForkResult), "One entry for each copy"), ...errors(400, 404, 409, 422, 501) },
  }),
  rollbackSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/rollback",
    tags,
    ...allowed("sandboxes"),
    summary: "Set a sandbox back to one of its snapshots",
    request: { params: SandboxPath, body: body(SandboxRollback) },
    responses: { 200: json(RolledBack, "The sandbox runs with the state of the snapshot"), ...errors(400, 404, 409, 501) },
  }),
  createSnapshot: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/snapshots",
    tags,
    ...allowed("sandboxes"),
    summary: "Make a snapshot of a running sandbox, from which sandboxes can be created",
    request: { params: SandboxPath, body: body(NewSnapshot) },
    responses: { 201: json(SnapshotInfo, "The snapshot was made"), ...errors(400, 404, 409, 501) },
  }),
  listSnapshots: operation({
    method: "get",
    path: "/snapshots",
    tags,
    ...allowed("read"),
    summary: "List snapshots, in pages",
    request: { query: SnapshotsQuery },
    responses: { 200: { ...json(z.array(SnapshotInfo), "One page"), headers: page }, ...errors(400) },
  }),
} as const;
