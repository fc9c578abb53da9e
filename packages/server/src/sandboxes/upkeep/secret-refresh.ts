import { isAppError, SerialQueue } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { EventStore } from "../../store/index.ts";
import { secretsUsed } from "../egress/driver-policies.ts";
import type { Engine } from "../engine/engine.ts";
import { setEgress } from "../transitions/set-egress.ts";

export interface SecretRefreshParts {
  readonly engine: Engine;
  readonly events: EventStore;
  readonly logger: Logger;
}

/** Gives the running sandboxes that use secrets the new values, when a secret was changed or removed. A sandbox that does not run gets them at its resume. */
export class SecretRefresh {
  private readonly parts: SecretRefreshParts;
  private readonly queue = new SerialQueue();
  private isWaiting = false;
  private unsubscribe = () => {};

  constructor(parts: SecretRefreshParts) {
    this.parts = parts;
  }

  start(): void {
    this.unsubscribe = this.parts.events.subscribe((actions) => {
      if (actions.some((action) => action.startsWith("secret."))) this.refresh();
    });
  }

  async stop(): Promise<void> {
    this.unsubscribe();
    await this.queue.run(async () => {});
  }

  /** Changes that come while one round is under way share the next one. */
  private refresh(): void {
    if (this.isWaiting) return;
    this.isWaiting = true;
    void this.queue.run(async () => {
      this.isWaiting = false;
      const { engine, logger } = this.parts;
      for (const sandbox of engine.sandboxes.ofUsers()) {
        if (sandbox.state !== "running" || secretsUsed(sandbox.record.settings).size === 0) continue;
        // A sandbox that has changed its state meanwhile gets the values when it runs again.
        await engine.run(sandbox, setEgress, undefined).catch((error: unknown) => {
          if (!isAppError(error, "not_found") && !isAppError(error, "aborted") && !isAppError(error, "failed_precondition"))
            logger.error({ err: error, sandboxId: sandbox.id }, "a sandbox did not get a secret's new value");
        });
      }
    });
  }
}
