import type { SandboxId } from "@boxyard/core";
import type { EndCause, SandboxRecord } from "../../store/index.ts";
import { idleEndOf } from "./idle.ts";
import type { PauseInput } from "./own-transitions.ts";
import type { EngineNeeds } from "./parts.ts";
import { pauseAtEnd } from "./pause-at-end.ts";
import type { Sandbox } from "./sandbox.ts";

/** What the ends of sandboxes do through the engine. All but `end` are called in the sandbox's turn. */
export interface EndActs {
  /** Takes a turn. */
  end(sandbox: Sandbox, cause: EndCause): Promise<void>;
  remove(sandbox: Sandbox, cause: EndCause): Promise<void>;
  pause(sandbox: Sandbox, input: PauseInput): Promise<unknown>;
  moveEnd(sandbox: Sandbox, endAt: number): Promise<void>;
  /** Sets the next end anew. */
  follow(sandbox: Sandbox): void;
}

/** Why the engine looks at a sandbox whose end has come. */
export type Due = "timeout" | "idle" | "setup_abandoned";

/** What happens at the end of a sandbox: of its time, of its idle time, or of the claim of the client that prepares it. The earliest counts. */
export class Ends {
  private readonly parts: Pick<EngineNeeds, "clock" | "events" | "routes" | "sandboxes" | "use">;
  private readonly acts: EndActs;

  constructor(parts: EngineNeeds, acts: EndActs) {
    this.parts = parts;
    this.acts = acts;
  }

  /** Why a sandbox is due now; undefined if it is not, by what the server has seen of its use. */
  dueOf(sandbox: Sandbox): Due | undefined {
    const now = this.parts.clock.now();
    if (isSetupOver(sandbox.record, now)) return "setup_abandoned";
    if (sandbox.state !== "running") return undefined;
    if (sandbox.record.endAt <= now) return "timeout";
    return (idleEndOf(sandbox, this.parts.routes.find(sandbox.id)) ?? Infinity) <= now ? "idle" : undefined;
  }

  /** The end that was set last has come. It may have moved since: use is noted, and moves no deadline. Never throws. */
  async onDue(id: SandboxId): Promise<void> {
    const sandbox = this.parts.sandboxes.find(id);
    if (!sandbox) return;
    let due = this.dueOf(sandbox);
    // What the proxy does not see is looked for only now: processors that work, and output that nobody reads.
    if (due === "idle" && (await this.parts.use?.isBusy(sandbox))) {
      this.parts.routes.find(id)?.flights.touch();
      due = this.dueOf(sandbox);
    }
    if (due === undefined) return this.acts.follow(sandbox);
    const { pauseAs } = sandbox.record.settings.lifecycle ?? {};
    // A removal that failed has been logged, and the sweep tries it again.
    if (due === "setup_abandoned" || pauseAs === undefined) return this.acts.end(sandbox, due).catch(() => {});
    await this.pause(sandbox, due, pauseAs === "full").catch(() => {});
  }

  /** Pauses a sandbox whose end has come. When that fails, it lives a little longer and the pause is tried again, but not for ever. */
  private pause(sandbox: Sandbox, cause: "timeout" | "idle", memory: boolean): Promise<void> {
    return sandbox.queue.run(async () => {
      if (this.dueOf(sandbox) !== cause) return this.acts.follow(sandbox);
      const next = await pauseAtEnd(this.parts, sandbox, { memory, cause }, (input) => this.acts.pause(sandbox, input));
      if (next === "paused" || next === "leave") return;
      if (cause === "idle") this.postpone(sandbox, next === "end" ? undefined : next.endAt);
      else if (next === "end") await this.acts.remove(sandbox, "pause_failed");
      else await this.acts.moveEnd(sandbox, next.endAt);
    });
  }

  /** A sandbox that cannot be paused for idleness lives on: its time ends it. After too many tries it has to be idle anew (`until` undefined). */
  private postpone(sandbox: Sandbox, until: number | undefined): void {
    sandbox.idleRetryAt = until ?? 0;
    if (until === undefined) this.parts.routes.find(sandbox.id)?.flights.touch();
    this.acts.follow(sandbox);
  }
}

/** True when the client that was to prepare a sandbox has not renewed its claim in time. */
export const isSetupOver = ({ settings: { setup } }: SandboxRecord, now: number): boolean => setup !== undefined && setup.until <= now;
