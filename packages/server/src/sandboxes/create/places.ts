import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import type { LivingSandboxes } from "../engine/living.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { noPlace } from "../problems.ts";
import type { TeamQuota } from "./team-quota.ts";

/**
 * Counts the sandboxes of users (`BOXYARD_MAX_SANDBOXES`). Every one of them has a place, but those that are paused. A check and the claim of the
 * place happen in one turn of the event loop, so no other request comes between them.
 */
export class Places {
  private readonly living: Pick<LivingSandboxes, "counted">;
  private readonly maxSandboxes: number;
  private readonly quota: Pick<TeamQuota, "check">;
  /** Sandboxes that have a place also while they are paused, with the number of calls of `hold` that run for each. */
  private readonly held = new Map<Sandbox, number>();

  constructor(living: Pick<LivingSandboxes, "counted">, maxSandboxes: number, quota: Pick<TeamQuota, "check">) {
    this.living = living;
    this.maxSandboxes = maxSandboxes;
    this.quota = quota;
  }

  /**
   * Runs `work`, during which the sandbox has a place whatever its state: `work` resumes it, or pauses and resumes it. Throws
   * `resource_exhausted` when it is paused and there is no place for it.
   */
  async hold<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    const holders = this.held.get(sandbox) ?? 0;
    if (sandbox.state === "paused" && holders === 0) this.check(sandbox.record);
    this.held.set(sandbox, holders + 1);
    try {
      return await work();
    } finally {
      const left = (this.held.get(sandbox) ?? 0) - 1;
      if (left > 0) this.held.set(sandbox, left);
      else this.held.delete(sandbox);
    }
  }

  private hasPlace(sandbox: Sandbox): boolean {
    return sandbox.state !== "paused" || this.held.has(sandbox);
  }

  /** Throws `resource_exhausted` when there is no place for one more sandbox of a user, or its team may not have it. */
  check(wanted: SandboxRecord): void {
    let taken = 0;
    for (const sandbox of this.living.counted()) if (this.hasPlace(sandbox)) taken += 1;
    if (taken >= this.maxSandboxes) throw noPlace(this.maxSandboxes);
    this.checkTeam(wanted);
  }

  /** Throws `resource_exhausted` when the team of a sandbox may not have it, with its size, beside the others that it has. */
  checkTeam(wanted: SandboxRecord): void {
    const users = this.living.counted();
    const others = users.filter(({ id, counted }) => counted.teamId === wanted.teamId && id !== wanted.id);
    this.quota.check(
      wanted,
      others.map((sandbox) => ({ resources: resourcesOf(sandbox.counted), runs: this.hasPlace(sandbox) })),
    );
  }
}
