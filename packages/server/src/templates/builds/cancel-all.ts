import { isAppError, type TeamId } from "@boxyard/core";
import type { Store } from "../../store/index.ts";
import type { Templates } from "../templates.ts";
import type { Builds } from "./builds.ts";

interface CancelParts {
  readonly builds: Pick<Builds, "cancel">;
  readonly templates: Pick<Templates, "get">;
  readonly store: { readonly templates: Pick<Store["templates"], "listBuildsIn"> };
}

/** Cancels all builds of a team that have not ended, and says how many were canceled. One that ends meanwhile counts as neither. */
export async function cancelAll({ builds, templates, store }: CancelParts, teamId: TeamId): Promise<{ done: number; failed: number }> {
  const open = await store.templates.listBuildsIn(["waiting", "building"]);
  const own = open.filter(({ templateId }) => templates.get(templateId)?.record.teamId === teamId);
  const counts = { done: 0, failed: 0 };
  for (const { id, templateId } of own) {
    try {
      await builds.cancel(teamId, templateId, id);
      counts.done++;
    } catch (error) {
      if (!isAppError(error, "build_ended") && !isAppError(error, "build_not_found")) counts.failed++;
    }
  }
  return counts;
}
