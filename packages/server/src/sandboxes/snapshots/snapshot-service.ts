import type { SandboxId, TeamId } from "@boxyard/core";
import type { Pins } from "../../images/pins.ts";
import type { ListedSnapshot, SnapshotCatalog, SnapshotFilter } from "../../templates/snapshots/snapshot-catalog.ts";
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

/** What a team does with snapshots of its sandboxes; they are deleted as templates are. */
export class SnapshotService {
  private readonly parts: SnapshotServiceParts;

  constructor(parts: SnapshotServiceParts) {
    this.parts = parts;
  }

  /**
   * Keeps a running sandbox as it is now, as a version of a template; it goes on. Throws `not_found`, `aborted` while it does not run,
   * `unavailable` when it could not be kept; nothing is left then.
   */
  async create(teamId: TeamId, id: SandboxId, { name, memory }: SnapshotWish): Promise<ListedSnapshot> {
    const { engine, snapshotCatalog: catalog, snapshotKeeper: keeper, pins } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const named = await catalog.nameFor(teamId, name);
    try {
      // What it stands on stays, also if the sandbox ends before the store has heard of the snapshot.
      using _layers = pins.hold(sandbox.record.facts.image.layers);
      using held = keeper.hold();
      await engine.run(sandbox, snapshot, { id: held.id, memory }).catch((error: unknown) => {
        throw captureFailure("snapshotted", id, error);
      });
      return await catalog.add(sandbox.record, named, { id: held.id, memory });
    } catch (error) {
      // The store says whether it is kept: an answer of the store may have got lost. What fails here the sweep does.
      await keeper.collect().catch(() => {});
      throw error;
    }
  }

  /** A team's snapshots, newest first. */
  list(teamId: TeamId, filter: SnapshotFilter): ListedSnapshot[] {
    return this.parts.snapshotCatalog.list(teamId, filter);
  }
}
