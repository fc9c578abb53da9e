import { z } from "zod";
import { allowed, open } from "./access.ts";
import { buildRoutes } from "./build-routes.ts";
import { SandboxPath } from "./common.ts";
import { eventRoutes } from "./event-routes.ts";
import { imageRoutes } from "./image-transfer.ts";
import { keyRoutes } from "./key.ts";
import { legacyTemplateRoutes } from "./legacy-template-routes.ts";
import { metricRoutes } from "./metric-routes.ts";
import { nameRoutes } from "./name-routes.ts";
import { NetworkUpdate } from "./network.ts";
import { networkRoutes } from "./network-routes.ts";
import { nodeRoutes } from "./node-routes.ts";
import { portRoutes } from "./port-routes.ts";
import { recordingRoutes } from "./recording-routes.ts";
import { body, errors, IdempotencyHeaders, json, maxBody, none, operation, page } from "./route-parts.ts";
import * as s from "./sandbox.ts";
import { sandboxLogRoutes } from "./sandbox-log.ts";
import { secretRoutes } from "./secret-routes.ts";
import { serverRoutes } from "./server-routes.ts";
import { snapshotRoutes } from "./snapshot-routes.ts";
import { tagHistoryRoutes } from "./tag-history.ts";
import { teamRoutes } from "./team-routes.ts";
import { templateRoutes } from "./template-routes.ts";
import { volumeRoutes } from "./volume-routes.ts";
import { webhookRoutes } from "./webhook-routes.ts";

const tags = ["Sandboxes"];

/** Every operation of the platform API that exists so far. Paths, statuses and shapes: docs/contract/platform.md and templates.md. */
export const routes = {
  health: operation({
    method: "get",
    path: "/health",
    tags: ["Server"],
    ...open,
    responses: { 200: none("The server answers") },
  }),

  createSandbox: operation({
    method: "post",
    path: "/sandboxes",
    tags,
    ...allowed("sandboxes"),
    summary: "Create a sandbox",
    ...maxBody(4 << 20),
    request: { headers: IdempotencyHeaders, body: body(s.NewSandbox) },
    responses: { 201: json(s.Sandbox, "The sandbox runs"), ...errors(400, 403, 404, 409, 413, 422, 501, 504) },
  }),
  createSandboxV2: operation({
    method: "post",
    path: "/v2/sandboxes",
    tags,
    ...allowed("sandboxes"),
    summary: "Create a sandbox (v2)",
    ...maxBody(4 << 20),
    request: { headers: IdempotencyHeaders, body: body(s.NewSandboxV2) },
    responses: { 201: json(s.Sandbox, "The sandbox runs"), ...errors(400, 403, 404, 409, 413, 422, 501, 504) },
  }),
  listSandboxes: operation({
    method: "get",
    path: "/sandboxes",
    tags,
    ...allowed("read"),
    summary: "List running sandboxes",
    request: { query: s.ListV1Query },
    responses: { 200: json(z.array(s.ListedSandbox), "Newest first"), ...errors(400) },
  }),
  listSandboxesV2: operation({
    method: "get",
    path: "/v2/sandboxes",
    tags,
    ...allowed("read"),
    summary: "List sandboxes, in pages",
    request: { query: s.ListV2Query },
    responses: {
      200: {
        ...json(z.array(s.ListedSandbox), "One page"),
        headers: {
          ...page,
          "X-Total-Running": {
            schema: { type: "integer" as const },
            description: "Number of running sandboxes, when the request asked for running ones",
          },
        },
      },
      ...errors(400),
    },
  }),
  listMetrics: operation({
    method: "get",
    path: "/sandboxes/metrics",
    tags,
    ...allowed("read"),
    summary: "Newest metrics of several sandboxes",
    request: { query: s.ManyMetricsQuery },
    responses: { 200: json(s.SandboxesMetrics, "Metrics, by the id of their sandbox"), ...errors(400) },
  }),
  getSandbox: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}",
    tags,
    ...allowed("read"),
    summary: "Get one sandbox",
    request: { params: SandboxPath },
    responses: { 200: json(s.SandboxDetail, "The sandbox"), ...errors(400, 404) },
  }),
  killSandbox: operation({
    method: "delete",
    path: "/sandboxes/{sandboxID}",
    tags,
    ...allowed("sandboxes"),
    summary: "End a sandbox and remove all of it",
    request: { params: SandboxPath },
    responses: { 204: none("The sandbox has ended and was removed"), ...errors(400, 404, 409) },
  }),
  getMetrics: operation({
    method: "get",
    path: "/sandboxes/{sandboxID}/metrics",
    tags,
    ...allowed("read"),
    summary:
      "Metrics of one sandbox: every 5 s for an hour, every minute for a day, every 10 minutes for 30 days; at most 1,500, at a longer step where there are more",
    request: { params: SandboxPath, query: s.MetricsQuery },
    responses: { 200: json(z.array(s.SandboxMetric), "Oldest first"), ...errors(400, 404) },
  }),
  connectSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/connect",
    tags,
    ...allowed("sandboxes"),
    summary: "Get the access of a sandbox; its lifetime is never shortened",
    request: { params: SandboxPath, body: body(s.ConnectSandbox) },
    responses: {
      200: json(s.Sandbox, "The sandbox was running already"),
      201: json(s.Sandbox, "The sandbox was paused, and has been resumed"),
      ...errors(400, 404, 409, 504),
    },
  }),
  connectSandboxV2: operation({
    method: "post",
    path: "/v2/sandboxes/{sandboxID}/connect",
    tags,
    ...allowed("sandboxes"),
    summary: "Get the access of a sandbox (v2); the body may be absent",
    request: { params: SandboxPath, body: body(s.ConnectSandboxV2, false) },
    responses: {
      200: json(s.Sandbox, "The sandbox was running already"),
      201: json(s.Sandbox, "The sandbox was paused, and has been resumed"),
      ...errors(400, 404, 409, 504),
    },
  }),
  resumeSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/resume",
    tags,
    ...allowed("sandboxes"),
    summary: "Resume a paused sandbox",
    request: { params: SandboxPath, body: body(s.ResumedSandbox, false) },
    responses: { 201: json(s.Sandbox, "The sandbox runs again"), ...errors(400, 404, 409) },
  }),
  setTimeout: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/timeout",
    tags,
    ...allowed("sandboxes"),
    summary: "Set the end of a sandbox to now + timeout; this may shorten its lifetime",
    request: { params: SandboxPath, body: body(s.SandboxTimeout) },
    responses: { 204: none("Set"), ...errors(400, 404, 409) },
  }),
  refreshSandbox: operation({
    method: "post",
    path: "/sandboxes/{sandboxID}/refreshes",
    tags,
    ...allowed("sandboxes"),
    summary: "Set the end of a sandbox to now + duration, unless it ends later already",
    request: { params: SandboxPath, body: body(s.SandboxRefresh, false) },
    responses: { 204: none("Done"), ...errors(400, 404, 409) },
  }),
  updateNetwork: operation({
    method: "put",
    path: "/sandboxes/{sandboxID}/network",
    tags,
    ...allowed("sandboxes"),
    summary: "Replace the rules of a running sandbox's outgoing traffic",
    request: { params: SandboxPath, body: body(NetworkUpdate) },
    responses: { 204: none("The rules are in force, also for connections that are open"), ...errors(400, 404, 409, 501) },
  }),
  ...nameRoutes,
  ...portRoutes,
  ...networkRoutes,
  ...snapshotRoutes,
  ...sandboxLogRoutes,
  ...templateRoutes,
  ...keyRoutes,
  ...teamRoutes,
  ...metricRoutes,
  ...eventRoutes,
  ...volumeRoutes,
  ...recordingRoutes,
  ...secretRoutes,
  ...webhookRoutes,
  ...buildRoutes,
  ...imageRoutes,
  ...tagHistoryRoutes,
  ...legacyTemplateRoutes,
  ...nodeRoutes,
  ...serverRoutes,
} as const;
