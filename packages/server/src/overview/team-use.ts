import type { TeamId } from "@boxyard/core";
import type { LimitName } from "@boxyard/spec/platform";
import type { Admission } from "../sandboxes/create/admission.ts";
import type { LivingSandboxes } from "../sandboxes/engine/living.ts";
import type { Builds } from "../templates/builds/builds.ts";
import type { Templates } from "../templates/templates.ts";

const MIB = 2 ** 20;

interface UseParts {
  readonly sandboxes: Pick<LivingSandboxes, "counts">;
  readonly admission: Pick<Admission, "createsOf">;
  readonly builds: Pick<Builds, "openOf">;
  readonly templates: Pick<Templates, "ofTeam">;
}

/** What teams have of what their limits are about. */
export class TeamUse {
  private readonly parts: UseParts;

  constructor(parts: UseParts) {
    this.parts = parts;
  }

  /** As the limits count it: paused sandboxes for their disk alone. `timeoutHours` counts nothing. */
  of(teamId: TeamId): Partial<Record<LimitName, number>> {
    const { sandboxes, admission, builds, templates } = this.parts;
    const { memoryBytes, diskBytes, ...counted } = sandboxes.counts.ofTeam(teamId);
    return {
      ...counted,
      memoryMB: Math.round(memoryBytes / MIB),
      diskMB: Math.round(diskBytes / MIB),
      templates: templates.ofTeam(teamId).length,
      builds: builds.openOf(teamId),
      createsPerMinute: admission.createsOf(teamId),
    };
  }
}
