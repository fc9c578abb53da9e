import type { Logger } from "@boxyard/core/node";
import type { EndCause } from "./store/index.ts";

/** One function per thing that happens to sandboxes; each writes one log line. No environment, token or file content ever goes in. */
export class Events {
  private readonly logger: Logger;

  constructor(logger: Logger) {
    this.logger = logger;
  }

  created(sandboxId: string, facts: { template: string; totalMs: number; steps: Readonly<Record<string, number>> }): void {
    this.logger.info({ sandboxId, ...facts }, "sandbox created");
  }
  createFailed(sandboxId: string, error: unknown): void {
    this.logger.warn({ sandboxId, err: error }, "sandbox not created");
  }
  ended(sandboxId: string, cause: EndCause): void {
    this.logger.info({ sandboxId, cause }, "sandbox ended");
  }
  removed(sandboxId: string): void {
    this.logger.debug({ sandboxId }, "sandbox removed");
  }
  removalFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "sandbox could not be removed; it will be tried again");
  }
  storeFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "the store did not take a change");
  }
  adopted(sandboxId: string): void {
    this.logger.info({ sandboxId }, "sandbox adopted");
  }
  notAdopted(sandboxId: string, cause: EndCause): void {
    this.logger.warn({ sandboxId, cause }, "sandbox not adopted");
  }
  orphanRemoved(sandboxId: string): void {
    this.logger.warn({ sandboxId }, "orphan removed: the driver had it, the store did not");
  }
  watchFailed(sandboxId: string, error: unknown): void {
    this.logger.error({ sandboxId, err: error }, "watching the sandbox failed; it will be tried again");
  }
}
