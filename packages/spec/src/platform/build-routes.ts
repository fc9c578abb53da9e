import { createRoute } from "@hono/zod-openapi";
import { body, errors, json, maxBody, none, security } from "./route-parts.ts";
import * as t from "./template.ts";

const tags = ["Templates"];

/** Builds of templates. Paths, statuses and shapes: docs/contract/templates.md. */
export const buildRoutes = {
  getBuildFiles: createRoute({
    method: "get",
    path: "/templates/{templateID}/files/{hash}",
    tags,
    security,
    summary: "Where to upload files of a build",
    request: { params: t.FilesPath },
    responses: { 201: json(t.BuildFiles, "Upload there with PUT and a Content-Length, unless present"), ...errors(400, 404) },
  }),
  startBuild: createRoute({
    method: "post",
    path: "/v2/templates/{templateID}/builds/{buildID}",
    tags,
    security,
    summary: "Start a build",
    ...maxBody(16 << 20),
    request: { params: t.BuildPath, body: body(t.StartBuild) },
    responses: { 202: none("It is queued"), ...errors(400, 404, 413) },
  }),
  cancelBuild: createRoute({
    method: "post",
    path: "/templates/{templateID}/builds/{buildID}/cancel",
    tags,
    security,
    summary: "Cancel a build that has not ended",
    request: { params: t.BuildPath },
    responses: { 204: none("It ends in error"), ...errors(400, 404) },
  }),
  getBuildStatus: createRoute({
    method: "get",
    path: "/templates/{templateID}/builds/{buildID}/status",
    tags,
    security,
    summary: "Status of a build, with a page of its log",
    request: { params: t.BuildPath, query: t.BuildStatusQuery },
    responses: { 200: json(t.BuildInfo, "An offset at or beyond the end gives no entries"), ...errors(400, 404) },
  }),
  getBuildLogs: createRoute({
    method: "get",
    path: "/templates/{templateID}/builds/{buildID}/logs",
    tags,
    security,
    summary: "Log of a build",
    request: { params: t.BuildPath, query: t.BuildLogsQuery },
    responses: { 200: json(t.BuildLogs, "One page"), ...errors(400, 404) },
  }),
} as const;
