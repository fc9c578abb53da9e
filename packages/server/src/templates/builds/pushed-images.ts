import { AppError, type TeamId } from "@boxyard/core";
import type { Builds } from "./builds.ts";

const WAY = "start the build with POST /v2/templates/{templateID}/builds/{buildID}, which says its steps";

/**
 * Refuses the start of a build whose image the client has pushed with docker: this server takes none. The build stays as it is. Throws `unimplemented`,
 * reason `no_pushed_images`; for a build that cannot be started `failed_precondition` or `not_found`.
 */
export async function refusePushed(builds: Pick<Builds, "progress">, teamId: TeamId, template: string, buildId: string): Promise<never> {
  const { build } = await builds.progress(teamId, template, buildId, { offset: 0, limit: 1, minLevel: "error" });
  if (build.status !== "waiting") throw new AppError("failed_precondition", "build is not in waiting state", { reason: "build_started" });
  throw new AppError("unimplemented", `This server takes no images that are pushed with docker: ${WAY}`, { reason: "no_pushed_images" });
}
