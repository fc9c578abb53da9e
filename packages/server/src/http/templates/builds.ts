import type { LogLevel, routes } from "@boxyard/spec/platform";
import { checkHash } from "../../templates/builds/uploads.ts";
import { publicUrl } from "../public-url.ts";
import { json, noContent } from "../responses.ts";
import { presentLine, presentProgress } from "./present.ts";
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
  const { logsOffset: offset, limit, level: minLevel = LOWEST } = query;
  const progress = await builds.progress(caller.teamId, param("templateID"), param("buildID"), { offset, limit, minLevel });
  return json(200, presentProgress(progress));
};

export const getBuildLogs: HandlerOf<typeof routes.getBuildLogs> = async ({ query, caller, param }, { builds }) => {
  const { direction, limit, cursor, level: minLevel = LOWEST } = query;
  const options = { direction, limit, minLevel, ...(cursor === undefined ? {} : { cursor }) };
  const lines = await builds.logs(caller.teamId, param("templateID"), param("buildID"), options);
  return json(200, { logs: lines.map(presentLine) });
};
