import { existsSync, readdirSync } from "node:fs";
import { isSandboxId, type SandboxId } from "@boxyard/core";
import { freeSandbox } from "../checkpoint/pause.ts";
import { cgroupOf, type LocalParts } from "../sandbox/parts.ts";
import { isPaused } from "../sandbox/recover.ts";
import type { LocalSandboxes } from "../sandbox/sandboxes.ts";
import { removeSandbox } from "../sandbox/teardown.ts";
import { readRecord } from "../state/record.ts";
import { TRIAL_OF, tryImage } from "./trial.ts";

/**
 * Ends frozen processes of paused sandboxes that are not kept for a quick wake: those that an earlier server has left, and those that the wake cache
 * drops. Removes what a trial of an image has left, too.
 */
export class FrozenOrphans {
  private readonly parts: LocalParts;
  private readonly sandboxes: LocalSandboxes;
  /** Resolves when the frozen orphans of an earlier server have ended. */
  private readonly found: Promise<unknown>;

  /** Begins to end the frozen orphans of an earlier server. */
  constructor(parts: LocalParts, sandboxes: LocalSandboxes) {
    this.parts = parts;
    this.sandboxes = sandboxes;
    parts.wakeCache.open({ drop: (id) => this.end(id), tryImage: (id, frozen, signal) => tryImage(parts, id, frozen, signal) });
    const ids = readdirSync(parts.paths.sandboxes).filter(isSandboxId);
    this.found = Promise.all(ids.map((id) => this.end(id)));
  }

  /** Drops the wake cache; resolves when no frozen orphan is left. */
  async close(): Promise<void> {
    await Promise.all([this.parts.wakeCache.close(), this.found]);
  }

  /**
   * Ends the processes of a paused sandbox, unless they are kept for a quick wake. Never fails, because no caller handles its errors; the next call
   * for the sandbox tries again.
   */
  private async end(sandboxId: SandboxId): Promise<void> {
    const { onUndoError } = this.parts;
    await this.endInTurn(sandboxId).catch((error: unknown) => onUndoError("frozen orphan", error));
  }

  private endInTurn(sandboxId: SandboxId): Promise<void> {
    return this.sandboxes.inTurn(sandboxId, async () => {
      const { parts } = this;
      const record = readRecord(parts.paths.state(sandboxId));
      if (record && TRIAL_OF in record.labels) return removeSandbox(parts, sandboxId);
      if (!record || !existsSync(cgroupOf(parts, sandboxId).top) || parts.wakeCache.has(sandboxId) || !isPaused(parts, record)) return;
      await freeSandbox(parts, record);
    });
  }
}
