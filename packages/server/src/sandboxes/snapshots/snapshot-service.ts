import type { SandboxId, TeamId } from "@boxyard/core";
import type { Pins } from "../../images/pins.ts";
import { newestFirst, type Page, type PageQuery, type Position, pageIn } from "../../page.ts";
import type { Store } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { ListedSnapshot, SnapshotFilter, SnapshotNotes } from "../ports.ts";
import { captureFailure, snapshot } from "../transitions/snapshot.ts";
import type { SnapshotKeeper } from "../upkeep/snapshot-keeper.ts";

export interface SnapshotServiceParts {
  readonly engine: Engine;
  readonly snapshotCatalog: SnapshotNotes;
  readonly snapshotKeeper: SnapshotKeeper;
  readonly pins: Pins;
  readonly store: { readonly checkpoints: Pick<Store["checkpoints"], "bytesOf"> };
}

export interface SnapshotWish {
  readonly name?: string | undefined;
  /** False: the disk alone. */
  readonly memory: boolean;
}

/** Which snapshots a list shows, and which part of it. */
export interface SnapshotQuery extends SnapshotFilter, PageQuery {}

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
      await engine.run(sandbox, snapshot, { id: held.id, memory, ...named }).catch((error: unknown) => {
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
  list(teamId: TeamId, query: SnapshotQuery): Page<ListedSnapshot> {
    return pageIn(this.parts.snapshotCatalog.list(teamId, query), newestFirst, positionOf, query);
  }

  /** What the checkpoints of these snapshots hold, in bytes, by the checkpoint's id; without those of which that is not known. */
  sizesOf(snapshots: readonly ListedSnapshot[]): Promise<ReadonlyMap<string, number>> {
    return this.parts.store.checkpoints.bytesOf(snapshots.map(({ checkpointId }) => checkpointId));
  }
}

const positionOf = ({ createdAt, buildId }: ListedSnapshot): Position => ({ at: createdAt, id: buildId });
