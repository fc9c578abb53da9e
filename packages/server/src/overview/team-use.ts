import type { TeamId } from "@boxyard/core";
import type { LimitName } from "@boxyard/spec/platform";
import type { Admission } from "../sandboxes/create/admission.ts";
import type { LivingSandboxes } from "../sandboxes/engine/living.ts";
import { resourcesOf } from "../store/index.ts";
import type { Builds } from "../templates/builds/builds.ts";
import type { Templates } from "../templates/templates.ts";

const MIB = 2 ** 20;

interface UseParts {
  readonly sandboxes: Pick<LivingSandboxes, "counted">;
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
    const own = sandboxes.counted().filter(({ counted }) => counted.teamId === teamId);
    const sizes = own.map(({ counted, state }) => ({ ...resourcesOf(counted), runs: state !== "paused" }));
    const running = sizes.filter(({ runs }) => runs);
    const sum = (numbers: readonly number[]) => numbers.reduce((total, number) => total + number, 0);
    return {
      sandboxes: running.length,
      cpus: sum(running.map(({ cpuCount }) => cpuCount)),
      memoryMB: Math.round(sum(running.map(({ memoryBytes }) => memoryBytes)) / MIB),
      diskMB: Math.round(sum(sizes.map(({ diskBytes }) => diskBytes)) / MIB),
      templates: templates.ofTeam(teamId).length,
      builds: builds.openOf(teamId),
      createsPerMinute: admission.createsOf(teamId),
    };
  }
}
