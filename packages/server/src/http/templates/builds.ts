import type { BuildInfo, LogLevel, routes } from "@boxyard/spec/platform";
import { checkHash } from "../../templates/builds/order/uploads.ts";
import { publicUrl } from "../public-url.ts";
import { json, noContent } from "../responses.ts";
import { presentLine } from "./present.ts";
import type { HandlerOf } from "./services.ts";

const LOWEST: LogLevel = "debug";

/** `GET /templates/{id}/files/{hash}`: has an upload address also when the files are present, for clients that upload again on demand (docs/contract/templates.md). */
export const getBuildFiles: HandlerOf<typeof routes.getBuildFiles> = ({ caller, param, header }, { config, templates, uploads }) => {
  templates.findOwn(caller.teamId, param("templateID"));
  const hash = checkHash(param("hash"), "hash");
  return json(201, { present: uploads.has(caller.teamId, hash), url: `${publicUrl(config, header)}${uploads.link(caller.teamId, hash)}` });
};

/** `POST /v2/templates/{id}/builds/{id}`: an empty 202. */
export const startBuild: HandlerOf<typeof routes.startBuild> = async ({ body, caller, param }, { builds }) => {
  await builds.start(caller.teamId, param("templateID"), param("buildID"), body);
  return new Response("", { status: 202, headers: { "Content-Length": "0" } });
};

export const cancelBuild: HandlerOf<typeof routes.cancelBuild> = async ({ caller, param }, { builds }) => {
  await builds.cancel(caller.teamId, param("templateID"), param("buildID"));
  return noContent();
};

/** `GET …/status`: clients poll it five times a second; `logsOffset` is the number of log entries that they have. */
export const getBuildStatus: HandlerOf<typeof routes.getBuildStatus> = async ({ query, caller, param }, { builds }) => {
  // The status is read before the log: the log of a build that has ended is complete.
  const build = await builds.find(caller.teamId, param("templateID"), param("buildID"));
  const lines = await builds.logs(build.id, { offset: query.logsOffset, limit: query.limit, minLevel: query.level ?? LOWEST });
  const info: BuildInfo = {
    templateID: build.templateId,
    buildID: build.id,
    status: build.status,
    logs: [],
    logEntries: lines.map(presentLine),
    ...(build.reason ? { reason: { ...build.reason, logEntries: (await builds.reasonLines(build)).map(presentLine) } } : {}),
  };
  return json(200, info);
};

export const getBuildLogs: HandlerOf<typeof routes.getBuildLogs> = async ({ query, caller, param }, { builds }) => {
  const build = await builds.find(caller.teamId, param("templateID"), param("buildID"));
  const { direction, limit, cursor, level = LOWEST } = query;
  const lines = await builds.logsAt(build.id, { direction, limit, minLevel: level, ...(cursor === undefined ? {} : { cursor }) });
  return json(200, { logs: lines.map(presentLine) });
};
