import { allowed } from "./access.ts";
import * as b from "./build-info.ts";
import { body, errors, json, maxBody, none, operation } from "./route-parts.ts";
import { StartBuild } from "./start-build.ts";

const tags = ["Templates"];

/** Builds of templates. Paths, statuses and shapes: docs/contract/templates.md. */
export const buildRoutes = {
  getBuildFiles: operation({
    method: "get",
    path: "/templates/{templateID}/files/{hash}",
    tags,
    ...allowed("templates"),
    summary: "Where to upload files of a build",
    request: { params: b.FilesPath },
    responses: { 201: json(b.BuildFiles, "Upload there with PUT and a Content-Length, unless present"), ...errors(400, 404) },
  }),
  startBuild: operation({
    method: "post",
    path: "/v2/templates/{templateID}/builds/{buildID}",
    tags,
    ...allowed("templates"),
    summary: "Start a build",
    ...maxBody(16 << 20),
    request: { params: b.BuildPath, body: body(StartBuild) },
    responses: { 202: none("The build is queued"), ...errors(400, 404, 413, 501) },
  }),
  cancelBuild: operation({
    method: "post",
    path: "/templates/{templateID}/builds/{buildID}/cancel",
    tags,
    ...allowed("templates"),
    summary: "Cancel a build that has not ended",
    request: { params: b.BuildPath },
    responses: { 204: none("Canceled: the build ends with the status `error`"), ...errors(400, 404) },
  }),
  getBuildStatus: operation({
    method: "get",
    path: "/templates/{templateID}/builds/{buildID}/status",
    tags,
    ...allowed("read"),
    summary: "Status of a build, with a page of its log",
    request: { params: b.BuildPath, query: b.BuildStatusQuery },
    responses: {
      200: json(b.BuildInfo, "Status and one page of the log. With an offset at or beyond the end there are no entries"),
      ...errors(400, 404),
    },
  }),
  getBuildLogs: operation({
    method: "get",
    path: "/templates/{templateID}/builds/{buildID}/logs",
    tags,
    ...allowed("read"),
    summary: "Log of a build",
    request: { params: b.BuildPath, query: b.BuildLogsQuery },
    responses: { 200: json(b.BuildLogs, "One page"), ...errors(400, 404) },
  }),
} as const;
