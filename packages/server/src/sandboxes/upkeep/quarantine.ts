import { readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, isAppError } from "@boxyard/core";
import type { SandboxDriver, SandboxHandle } from "@boxyard/driver";
import type { Events } from "../../events.ts";

/** Name of the file of the data directory that says which orphans there are, and since when. */
export const ORPHANS_FILE = "orphans.json";

export interface QuarantineParts {
  readonly driver: Pick<SandboxDriver, "freeze" | "destroy">;
  readonly clock: Clock;
  readonly events: Events;
  readonly dataDir: string;
  /** How long an orphan is kept. */
  readonly keepMs: number;
}

/**
 * Sandboxes that the driver has and the store does not know. Perhaps the store is wrong, so they are never removed at once: they are frozen,
 * shown by `boxyard doctor`, and kept for a time in which a person can say what becomes of them. That time goes on across restarts.
 */
export class Quarantine {
  private readonly parts: QuarantineParts;
  /** By id: when it was found, in milliseconds since 1970. */
  private since: ReadonlyMap<string, number>;

  constructor(parts: QuarantineParts) {
    this.parts = parts;
    this.since = new Map(readOrphans(parts.dataDir).map(({ id, since }) => [id, since]));
  }

  /** `orphans` are all there are now: new ones are frozen, and those whose time is over are removed. */
  async hold(orphans: readonly SandboxHandle[]): Promise<void> {
    const { clock, keepMs } = this.parts;
    const now = clock.now();
    const before = this.since;
    // A clock that was set back does not keep them for ever.
    this.since = new Map(orphans.map(({ sandboxId }) => [sandboxId, Math.min(before.get(sandboxId) ?? now, now)]));
    for (const handle of orphans) {
      const found = this.since.get(handle.sandboxId) ?? now;
      if (now - found >= keepMs) await this.remove(handle);
      else if (!before.has(handle.sandboxId)) await this.freeze(handle);
    }
    if (!isSame(before, this.since)) this.write();
  }

  has(id: string): boolean {
    return this.since.has(id);
  }

  /** Removes an orphan now. What cannot be removed is tried again by the next `hold`. */
  async remove(handle: SandboxHandle): Promise<void> {
    const { driver, events } = this.parts;
    try {
      await driver.destroy(handle);
      events.orphanRemoved(handle.sandboxId);
      this.since = new Map([...this.since].filter(([id]) => id !== handle.sandboxId));
    } catch (error) {
      events.removalFailed(handle.sandboxId, error);
    }
  }

  private async freeze(handle: SandboxHandle): Promise<void> {
    const { driver, events, keepMs } = this.parts;
    events.orphanKept(handle.sandboxId, keepMs);
    await driver.freeze(handle).catch((error: unknown) => {
      // Of a paused one nothing runs, and nothing of one that is half made.
      if (!isAppError(error, "not_found")) events.watchFailed(handle.sandboxId, error);
    });
  }

  private write(): void {
    const path = join(this.parts.dataDir, ORPHANS_FILE);
    try {
      writeFileSync(`${path}.new`, `${JSON.stringify({ version: 1, orphans: Object.fromEntries(this.since) })}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      // On a full disk the time of an orphan begins anew with the next server.
      this.parts.events.orphansNotWritten(error);
    }
  }
}

export interface Orphan {
  readonly id: string;
  /** Milliseconds since 1970. */
  readonly since: number;
}

/** What the data directory's server has in quarantine. A file that cannot be read counts as empty: then their time begins anew. */
export function readOrphans(dataDir: string): Orphan[] {
  try {
    const { orphans } = JSON.parse(readFileSync(join(dataDir, ORPHANS_FILE), "utf8")) as { orphans: Readonly<Record<string, number>> };
    return Object.entries(orphans).map(([id, since]) => ({ id, since: Number(since) }));
  } catch {
    return [];
  }
}

const isSame = (a: ReadonlyMap<string, number>, b: ReadonlyMap<string, number>): boolean =>
  a.size === b.size && [...a].every(([id, since]) => b.get(id) === since);
