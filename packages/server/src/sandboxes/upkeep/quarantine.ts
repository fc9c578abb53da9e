import { readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Clock, isAppError } from "@boxyard/core";
import type { EventLog, QuarantineCause } from "../../event-log.ts";
import type { PlacedHandle, Placement } from "../placement.ts";

/** File of the data directory that holds the sandboxes in quarantine, each with the time of its first sight and the cause. */
const ORPHANS_FILE = "orphans.json";

export interface QuarantineParts {
  readonly placement: Pick<Placement, "driverOf">;
  readonly clock: Clock;
  readonly events: EventLog;
  readonly dataDir: string;
  /** How long an orphan is kept. */
  readonly keepMs: number;
}

/** A sandbox for the quarantine, and why. */
export interface Held {
  readonly handle: PlacedHandle;
  readonly cause: QuarantineCause;
}

/**
 * Sandboxes that the driver has and the store does not know (cause `unknown`), or whose record the driver cannot read (`damaged`). The store may be
 * the wrong one, or the operator may put a file back, so they are not removed at once: they are frozen, `boxyard doctor` shows them, and they are
 * kept for `keepMs`, so that the operator can decide. A restart of the server does not begin that time anew.
 */
export class Quarantine {
  private readonly parts: QuarantineParts;
  private entries: ReadonlyMap<string, Entry>;

  constructor(parts: QuarantineParts) {
    this.parts = parts;
    this.entries = new Map(readOrphans(parts.dataDir).map(({ id, ...entry }) => [id, entry]));
  }

  /** Sets the content of the quarantine: freezes sandboxes that are new in it, and removes those whose time is over. */
  async hold(held: readonly Held[]): Promise<void> {
    const { clock, keepMs } = this.parts;
    const now = clock.now();
    const before = this.entries;
    // After the clock was set back, the time counts from now at the latest.
    const sinceOf = (id: string) => Math.min(before.get(id)?.since ?? now, now);
    this.entries = new Map(held.map(({ handle: { sandboxId: id }, cause }) => [id, { since: sinceOf(id), cause }]));
    for (const { handle, cause } of held) {
      if (now - sinceOf(handle.sandboxId) >= keepMs) await this.remove(handle);
      else if (!before.has(handle.sandboxId)) await this.freeze(handle, cause);
    }
    if (!isSame(before, this.entries)) this.write();
  }

  has(id: string): boolean {
    return this.entries.has(id);
  }

  /** Removes an orphan now. If that fails, the next `hold` tries again. */
  async remove(handle: PlacedHandle): Promise<void> {
    const { placement, events } = this.parts;
    try {
      await placement.driverOf(handle).destroy(handle);
      events.orphanRemoved(handle.sandboxId);
      this.entries = new Map([...this.entries].filter(([id]) => id !== handle.sandboxId));
    } catch (error) {
      events.removalFailed(handle.sandboxId, error);
    }
  }

  private async freeze(handle: PlacedHandle, cause: QuarantineCause): Promise<void> {
    const { placement, events, keepMs } = this.parts;
    events.quarantined(handle.sandboxId, cause, keepMs);
    await placement
      .driverOf(handle)
      .freeze(handle)
      .catch((error: unknown) => {
        // A paused or unfinished sandbox has no processes to freeze.
        if (!isAppError(error, "not_found")) events.watchFailed(handle.sandboxId, error);
      });
  }

  private write(): void {
    const path = join(this.parts.dataDir, ORPHANS_FILE);
    try {
      writeFileSync(`${path}.new`, `${JSON.stringify({ version: 1, orphans: Object.fromEntries(this.entries) })}\n`, { mode: 0o600 });
      renameSync(`${path}.new`, path);
    } catch (error) {
      // On a full disk the next server begins the time of new orphans anew.
      this.parts.events.orphansNotWritten(error);
    }
  }
}

interface Entry {
  /** Milliseconds since 1970. */
  readonly since: number;
  readonly cause: QuarantineCause;
}

export interface Orphan extends Entry {
  readonly id: string;
}

/** The sandboxes that the data directory's server has in quarantine. None if the file cannot be read: then their time begins anew. */
export function readOrphans(dataDir: string): Orphan[] {
  try {
    const { orphans } = JSON.parse(readFileSync(join(dataDir, ORPHANS_FILE), "utf8")) as { orphans: Readonly<Record<string, Entry>> };
    return Object.entries(orphans).map(([id, { since, cause }]) => ({ id, since, cause }));
  } catch {
    return [];
  }
}

/** To be called when every sandbox of the data directory was ended without the server. */
export function removeOrphansFile(dataDir: string): void {
  rmSync(join(dataDir, ORPHANS_FILE), { recursive: true, force: true });
}

const isSame = (a: ReadonlyMap<string, Entry>, b: ReadonlyMap<string, Entry>): boolean =>
  a.size === b.size && [...a].every(([id, { since }]) => b.get(id)?.since === since);
