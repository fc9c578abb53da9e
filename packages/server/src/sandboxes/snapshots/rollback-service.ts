import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { SnapshotRef } from "@boxyard/driver";
import type { SandboxRecord, TemplateVersion } from "../../store/index.ts";
import { isVolumeLost, withVolumeName } from "../../volumes/naming.ts";
import type { Admission } from "../create/admission.ts";
import type { Engine } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { failedVerb } from "../failed-verb.ts";
import type { TemplateSource } from "../ports.ts";
import { rollback } from "../transitions/rollback.ts";

export interface RollbackServiceParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "holdPlace">;
  readonly templates: Pick<TemplateSource, "resolve">;
}

/** Rolls sandboxes back to their snapshots. */
export class RollbackService {
  private readonly parts: RollbackServiceParts;

  constructor(parts: RollbackServiceParts) {
    this.parts = parts;
  }

  /**
   * A sandbox goes on from a snapshot that was made of it, or that it was made from. It keeps its id, token, metadata, network and the time that
   * it has left; a paused sandbox runs afterwards. When this fails, the sandbox is as before (`rollback`, the transition).
   * Throws `not_found`; `invalid_argument` for a snapshot of another sandbox; `aborted` while the sandbox changes; `resource_exhausted`
   * when it is paused and there is no place for it; `unavailable`.
   */
  async rollback(teamId: TeamId, id: SandboxId, snapshotId: string): Promise<SandboxRecord> {
    const { engine, admission, templates } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const from = refOf(sandbox, versionOf(templates, teamId, snapshotId));
    return admission.holdPlace(sandbox, () =>
      engine.run(sandbox, rollback, { from }).catch((error: unknown) => {
        throw failure(sandbox, error);
      }),
    );
  }
}

function versionOf(templates: Pick<TemplateSource, "resolve">, teamId: TeamId, snapshotId: string): TemplateVersion {
  try {
    return templates.resolve(teamId, snapshotId, "snapshotID");
  } catch (error) {
    if (!(error instanceof AppError && error.reason === "template_not_found")) throw error;
    const message = `snapshot '${snapshotId.slice(0, 200)}' not found`;
    throw new AppError("not_found", message, { reason: "snapshot_not_found", cause: error });
  }
}

function refOf({ id, record }: Sandbox, { buildId, spec: { snapshot } }: TemplateVersion): SnapshotRef {
  // Only these snapshots have the sandbox's image and resources.
  if (snapshot && (snapshot.sandboxId === id || record.facts.buildId === buildId))
    return { snapshot: snapshot.id, memory: snapshot.memory };
  throw new AppError("invalid_argument", "snapshotID: is no snapshot of this sandbox, nor the one that it was made from", {
    reason: "foreign_snapshot",
  });
}

function failure({ id, state, record }: Sandbox, error: unknown): AppError {
  if (error instanceof AppError && error.reason === "wrong_state") {
    const message = `Sandbox '${id}' cannot be rolled back while in '${String(error.details.state)}' state`;
    return new AppError("aborted", message, { reason: "cannot_roll_back", cause: error });
  }
  const isLost = isVolumeLost(error);
  if (!isLost && error instanceof AppError && ["not_found", "aborted", "canceled", "unimplemented"].includes(error.code)) return error;
  const how = state === "running" ? "runs on as before" : "is paused as before";
  return failedVerb(`The sandbox could not be rolled back and ${how}`, "rollback_failed", withVolumeName(error, record.facts.volumes));
}
