import type { LivingSandboxes } from "../engine/living.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { noPlace } from "../problems.ts";

/**
 * Counts the sandboxes of users (`BOXYARD_MAX_SANDBOXES`). Every one of them has a place, but those that are paused. A check and the claim of the
 * place happen in one turn of the event loop, so no other request comes between them.
 */
export class Places {
  private readonly living: Pick<LivingSandboxes, "ofUsers">;
  private readonly maxSandboxes: number;
  /** Sandboxes that have a place also while they are paused, with the number of calls of `hold` that run for each. */
  private readonly held = new Map<Sandbox, number>();

  constructor(living: Pick<LivingSandboxes, "ofUsers">, maxSandboxes: number) {
    this.living = living;
    this.maxSandboxes = maxSandboxes;
  }

  /**
   * Runs `work`, during which the sandbox has a place whatever its state: `work` resumes it, or pauses and resumes it. Throws
   * `resource_exhausted` when it is paused and there is no place for it.
   */
  async hold<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    const holders = this.held.get(sandbox) ?? 0;
    if (sandbox.state === "paused" && holders === 0) this.check();
    this.held.set(sandbox, holders + 1);
    try {
      return await work();
    } finally {
      const left = (this.held.get(sandbox) ?? 0) - 1;
      if (left > 0) this.held.set(sandbox, left);
      else this.held.delete(sandbox);
    }
  }

  /** Throws `resource_exhausted` when there is no place for one more sandbox of a user. */
  check(): void {
    const taken = this.living.ofUsers().filter((sandbox) => sandbox.state !== "paused" || this.held.has(sandbox));
    if (taken.length < this.maxSandboxes) return;
    throw noPlace(this.maxSandboxes);
  }
}
