import type { routes } from "@boxyard/spec/platform";
import { jsonLines } from "../json-lines.ts";
import { json } from "../responses.ts";
import type { HandlerOf } from "./services.ts";

/** `POST /boxyard/templates/{id}/push`: the push is aborted when its request ends. */
export const pushTemplate: HandlerOf<typeof routes.pushTemplate> = ({ body, caller, param, signal }, { templateImages }) =>
  jsonLines(templateImages.push(caller.teamId, param("templateID"), body), signal);

/** `POST /boxyard/triggers`. */
export const getTriggers: HandlerOf<typeof routes.getTriggers> = async ({ body, caller, signal }, { triggers }) =>
  json(200, { onBuild: await triggers.of(caller.teamId, body, signal) });

/** `GET /boxyard/templates/{id}/archive`. */
export const exportTemplate: HandlerOf<typeof routes.exportTemplate> = async ({ caller, param, signal }, { templateImages }) => {
  const { tar, sizeBytes, digest } = await templateImages.export(caller.teamId, param("templateID"), signal);
  const headers = { "Content-Type": "application/x-tar", "Content-Length": String(sizeBytes), "X-Image-Digest": digest };
  return new Response(tar, { headers });
};
