import type { SandboxId, TeamId } from "@boxyard/core";
import type { Pins } from "../../images/pins.ts";
import {
  byAge,
  type ListedSnapshot,
  type SnapshotCatalog,
  type SnapshotFilter,
  type SnapshotPosition,
} from "../../templates/snapshots/snapshot-catalog.ts";
import { cutPage } from "../cut-page.ts";
import type { Engine } from "../engine/engine.ts";
import { captureFailure, snapshot } from "../transitions/snapshot.ts";
import type { SnapshotKeeper } from "../upkeep/snapshot-keeper.ts";

export interface SnapshotServiceParts {
  readonly engine: Engine;
  readonly snapshotCatalog: SnapshotCatalog;
  readonly snapshotKeeper: SnapshotKeeper;
  readonly pins: Pins;
}

export interface SnapshotWish {
  readonly name?: string | undefined;
  /** False: the disk alone. */
  readonly memory: boolean;
}

/** Which snapshots a list shows, and which part of it. */
export interface SnapshotQuery extends SnapshotFilter {
  /** The page begins behind this position; at the newest snapshot by default. */
  readonly after?: SnapshotPosition | undefined;
  readonly limit: number;
}

export interface SnapshotPage {
  readonly snapshots: ListedSnapshot[];
  /** Position of the page's last snapshot if more snapshots follow. */
  readonly next?: SnapshotPosition;
}

/** Makes and lists snapshots of a team's sandboxes. Their deletion is that of templates (`Catalog.remove`). */
export class SnapshotService {
  private readonly parts: SnapshotServiceParts;

  constructor(parts: SnapshotServiceParts) {
    this.parts = parts;
  }

  /**
   * Captures a running sandbox as a version of a template; the sandbox runs on. Throws `not_found`, `aborted` while the sandbox does not run,
   * `unavailable` when the capture failed; then no snapshot is left.
   */
  async create(teamId: TeamId, id: SandboxId, { name, memory }: SnapshotWish): Promise<ListedSnapshot> {
    const { engine, snapshotCatalog: catalog, snapshotKeeper: keeper, pins } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const named = await catalog.nameFor(teamId, name);
    try {
      // The layers of the snapshot stay, even if the sandbox ends before the store has the snapshot.
      using _layers = pins.hold(sandbox.record.facts.image.layers);
      using held = keeper.hold();
      await engine.run(sandbox, snapshot, { id: held.id, memory }).catch((error: unknown) => {
        throw captureFailure("snapshotted", id, error);
      });
      return await catalog.add(sandbox.record, named, { id: held.id, memory });
    } catch (error) {
      // The store says whether the snapshot is needed, because its answer may have been lost. If this fails, the sweep does it.
      await keeper.collect().catch(() => {});
      throw error;
    }
  }

  /** A page of a team's snapshots that match `query`, newest first. */
  list(teamId: TeamId, { after, limit, ...filter }: SnapshotQuery): SnapshotPage {
    const matching = this.parts.snapshotCatalog.list(teamId, filter);
    const rest = after === undefined ? matching : matching.filter((one) => byAge(one, after) > 0);
    const { page, next } = cutPage(rest, limit, ({ createdAt, buildId }) => ({ createdAt, buildId }));
    return { snapshots: page, ...(next && { next }) };
  }
}
