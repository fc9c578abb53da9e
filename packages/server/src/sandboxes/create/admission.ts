import { AppError } from "@boxyard/core";
import type { SandboxRecord } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";

/** Decides whether another sandbox may be, and counts it from then on: nothing runs between the two. */
export class Admission {
  private readonly engine: Engine;
  private readonly maxSandboxes: number;

  constructor(engine: Engine, maxSandboxes: number) {
    this.engine = engine;
    this.maxSandboxes = maxSandboxes;
  }

  /** Throws `resource_exhausted` when there is no place. */
  admit(record: SandboxRecord): Sandbox {
    if (record.owner.kind === "user") this.checkPlace();
    return this.engine.add(record);
  }

  /** Throws `resource_exhausted` when no paused sandbox can be resumed for lack of a place: paused ones hold none. */
  checkPlace(): void {
    const holders = this.engine.sandboxes.ofUsers().filter(({ state }) => state !== "paused");
    if (holders.length < this.maxSandboxes) return;
    throw new AppError("resource_exhausted", `The maximum number of sandboxes (${this.maxSandboxes}) exists already`, {
      reason: "too_many_sandboxes",
      details: { retryAfter: 5 },
    });
  }
}
