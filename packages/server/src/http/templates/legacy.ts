import { AppError, type TeamId } from "@boxyard/core";
import type { LegacyTemplate, NewTemplate, routes } from "@boxyard/spec/platform";
import type { BuildRecord, TemplateRecord } from "../../store/index.ts";
import type { Builds } from "../../templates/builds/builds.ts";
import type { TemplateLists } from "../../templates/template-lists.ts";
import { json } from "../responses.ts";
import { presentListed } from "./present.ts";
import type { Handler, HandlerOf } from "./services.ts";

/** What the older requests say of a template; what else they have, the start of the build says here. */
const wantedOf = ({ alias, cpuCount, memoryMB }: Pick<NewTemplate, "alias" | "cpuCount" | "memoryMB">): NewTemplate => ({
  ...(alias !== undefined && { alias }),
  ...(cpuCount !== undefined && { cpuCount }),
  ...(memoryMB !== undefined && { memoryMB }),
});

/** `POST /templates` and `POST /v2/templates`. */
export const createTemplateV1: Handler<NewTemplate> = async ({ body, caller }, { catalog, templateLists }) => {
  const { template, build } = await catalog.request(caller.teamId, wantedOf(body));
  return json(202, await presentLegacy(template, build, templateLists));
};

/** `POST /templates/{id}`: another build of it. */
export const rebuildTemplateV1: HandlerOf<typeof routes.rebuildTemplateV1> = async (
  { body, caller, param },
  { catalog, templateLists },
) => {
  const { template, build } = await catalog.requestAgain(caller.teamId, param("templateID"), wantedOf(body));
  return json(202, await presentLegacy(template, build, templateLists));
};

/** `POST /templates/{id}/builds/{id}`: the image would be in the registry of the service. */
export const startBuildV1: HandlerOf<typeof routes.startBuildV1> = ({ caller, param }, { builds }) =>
  refusePushed(builds, caller.teamId, param("templateID"), param("buildID"));

/** As a list shows the template, but with the build that was requested. */
async function presentLegacy(template: TemplateRecord, build: BuildRecord, lists: TemplateLists): Promise<LegacyTemplate> {
  const { entry } = await lists.one(template.teamId, template.id, { limit: 1 });
  const { cpuCount, memoryMB, diskMB: diskSizeMB } = build.resources;
  return { ...presentListed(entry), buildID: build.id, buildStatus: build.status, cpuCount, memoryMB, diskSizeMB };
}

const WAY = "start the build with POST /v2/templates/{templateID}/builds/{buildID}, which says its steps";

/**
 * Refuses the start of a build whose image the client has pushed with docker: this server takes none. The build stays as it is. Throws `unimplemented`,
 * reason `no_pushed_images`; for a build that cannot be started `failed_precondition` or `not_found`.
 */
async function refusePushed(builds: Pick<Builds, "progress">, teamId: TeamId, template: string, buildId: string): Promise<never> {
  const { build } = await builds.progress(teamId, template, buildId, { offset: 0, limit: 1, minLevel: "error" });
  if (build.status !== "waiting") throw new AppError("failed_precondition", "build is not in waiting state", { reason: "build_started" });
  throw new AppError("unimplemented", `This server takes no images that are pushed with docker: ${WAY}`, { reason: "no_pushed_images" });
}
