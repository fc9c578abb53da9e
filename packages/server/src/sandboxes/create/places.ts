import type { SandboxRecord } from "../../store/index.ts";
import type { SandboxCounts } from "../engine/counts.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { noPlace } from "../problems.ts";
import type { TeamQuota } from "./team-quota.ts";

/**
 * Counts the sandboxes of users (`BOXYARD_MAX_SANDBOXES`). Every one of them has a place, but those that are paused. A check and the claim of the
 * place happen in one turn of the event loop, so no other request comes between them.
 */
export class Places {
  private readonly counts: Pick<SandboxCounts, "places" | "ofTeam">;
  private readonly maxSandboxes: number;
  private readonly quota: Pick<TeamQuota, "check">;

  constructor(counts: Pick<SandboxCounts, "places" | "ofTeam">, maxSandboxes: number, quota: Pick<TeamQuota, "check">) {
    this.counts = counts;
    this.maxSandboxes = maxSandboxes;
    this.quota = quota;
  }

  /**
   * Runs `work`, during which the sandbox has a place whatever its state: `work` resumes it, or pauses and resumes it. Throws
   * `resource_exhausted` when it is paused and there is no place for it.
   */
  async hold<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    if (!sandbox.hasPlace) this.check(sandbox.record);
    sandbox.holders += 1;
    try {
      return await work();
    } finally {
      sandbox.holders -= 1;
    }
  }

  /** Throws `resource_exhausted` when there is no place for one more sandbox of a user, or its team may not have it. */
  check(wanted: SandboxRecord): void {
    if (this.counts.places >= this.maxSandboxes) throw noPlace(this.maxSandboxes);
    this.checkTeam(wanted);
  }

  /** Throws `resource_exhausted` when the team of a sandbox may not have it, with its size, beside the others that it has. */
  checkTeam(wanted: SandboxRecord): void {
    this.quota.check(wanted, this.counts.ofTeam(wanted.teamId, wanted.id));
  }
}
