import { z } from "zod";
import { named } from "../openapi.ts";
import { allowed } from "./access.ts";
import { errors, json, operation, pathParam } from "./route-parts.ts";
import { ListedSandbox } from "./sandbox.ts";

const bytes = z.int();

const nodeFields = {
  id: z.string(),
  nodeID: z.string().meta({ description: "The same as `id`" }),
  clusterID: z.string(),
  serviceInstanceID: z.string().meta({ description: "Of this run of the server; the header X-Server-Run has it too" }),
  version: z.string(),
  commit: z.string(),
  status: z.enum(["ready", "unhealthy"]).meta({ description: "unhealthy: the server's store takes no changes" }),
  machineInfo: z.object({ cpuFamily: z.string(), cpuModel: z.string(), cpuModelName: z.string(), cpuArchitecture: z.string() }),
  sandboxCount: z.int().meta({ description: "Sandboxes that run" }),
  sandboxStartingCount: z.int(),
  createSuccesses: z.int().meta({ description: "Since the start of the server" }),
  createFails: z.int(),
  metrics: z.object({
    allocatedCPU: z.number(),
    cpuPercent: z.number().meta({ description: "Of the whole machine, 0 to 100, over the last minute" }),
    cpuCount: z.int(),
    allocatedMemoryBytes: bytes,
    memoryUsedBytes: bytes,
    memoryTotalBytes: bytes,
    disks: z.array(
      z.object({ mountPoint: z.string(), deviceName: z.string(), filesystemType: z.string(), usedBytes: bytes, totalBytes: bytes }),
    ),
  }),
};
const Node = z.object(nodeFields).meta(named("Node"));
export type Node = z.infer<typeof Node>;
const NodeDetail = z
  .object({ ...nodeFields, sandboxes: z.array(ListedSandbox), cachedBuilds: z.array(z.string()) })
  .meta(named("NodeDetail"));
export type NodeDetail = z.infer<typeof NodeDetail>;

const nodePath = z.object({ nodeID: pathParam("nodeID") });
const teamPath = z.object({ team: pathParam("team").meta({ description: "Id or slug of a team" }) });

/** The machines of the server, and what its operator ends for a team. */
export const nodeRoutes = {
  listNodes: operation({
    method: "get",
    path: "/nodes",
    tags: ["Nodes"],
    ...allowed("admin", "server"),
    summary: "The machines on which sandboxes run",
    responses: { 200: json(z.array(Node), "This machine first"), ...errors() },
  }),
  getNode: operation({
    method: "get",
    path: "/nodes/{nodeID}",
    tags: ["Nodes"],
    ...allowed("admin", "server"),
    summary: "One machine with its sandboxes",
    request: { params: nodePath },
    responses: { 200: json(NodeDetail, "The machine"), ...errors(404) },
  }),
  changeNode: operation({
    method: "post",
    path: "/nodes/{nodeID}",
    tags: ["Nodes"],
    ...allowed("admin", "server"),
    summary: "Change the status of a machine: refused, because there is no other that could take its sandboxes",
    request: { params: nodePath },
    responses: { 204: { description: "Not answered by this server" }, ...errors(404, 501) },
  }),
  killTeamSandboxes: operation({
    method: "post",
    path: "/admin/teams/{team}/sandboxes/kill",
    tags: ["Teams"],
    ...allowed("admin", "server"),
    summary: "End all sandboxes of a team",
    request: { params: teamPath },
    responses: {
      200: json(z.object({ killedCount: z.int(), failedCount: z.int() }).meta(named("AdminSandboxKillResult")), "What has ended"),
      ...errors(404),
    },
  }),
  cancelTeamBuilds: operation({
    method: "post",
    path: "/admin/teams/{team}/builds/cancel",
    tags: ["Teams"],
    ...allowed("admin", "server"),
    summary: "Cancel all builds of a team that have not ended",
    request: { params: teamPath },
    responses: {
      200: json(z.object({ cancelledCount: z.int(), failedCount: z.int() }).meta(named("AdminBuildCancelResult")), "What was canceled"),
      ...errors(404),
    },
  }),
} as const;
