import type { SandboxRecord } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { noPlace } from "../problems.ts";

/**
 * Decides whether one more sandbox of users may exist (`BOXYARD_MAX_SANDBOXES`). Every one of them has a place, but those that are paused. A
 * check and the claim of the place happen in one turn of the event loop, so no other request comes between them.
 */
export class Admission {
  private readonly engine: Pick<Engine, "add" | "sandboxes">;
  private readonly maxSandboxes: number;
  /** Sandboxes that have a place also while they are paused, with the number of calls of `holdPlace` that run for each. */
  private readonly held = new Map<Sandbox, number>();

  constructor(engine: Pick<Engine, "add" | "sandboxes">, maxSandboxes: number) {
    this.engine = engine;
    this.maxSandboxes = maxSandboxes;
  }

  /** Adds a new sandbox to the engine. Throws `resource_exhausted` when there is no place for a sandbox of a user; builds' need none. */
  admit(record: SandboxRecord): Sandbox {
    if (record.owner.kind === "user") this.checkPlace();
    return this.engine.add(record);
  }

  /**
   * Runs `work`, during which the sandbox has a place whatever its state: `work` resumes it, or pauses and resumes it. Throws
   * `resource_exhausted` when it is paused and there is no place for it.
   */
  async holdPlace<T>(sandbox: Sandbox, work: () => Promise<T>): Promise<T> {
    const holders = this.held.get(sandbox) ?? 0;
    if (sandbox.state === "paused" && holders === 0) this.checkPlace();
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
  checkPlace(): void {
    const taken = this.engine.sandboxes.ofUsers().filter((sandbox) => sandbox.state !== "paused" || this.held.has(sandbox));
    if (taken.length < this.maxSandboxes) return;
    throw noPlace(this.maxSandboxes);
  }
}
