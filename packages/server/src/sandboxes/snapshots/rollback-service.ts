import { AppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { SandboxDriver, SnapshotRef } from "@boxyard/driver";
import type { Events } from "../../events.ts";
import type { TemplateVersion } from "../../store/index.ts";
import type { Templates } from "../../templates/templates.ts";
import type { Admission } from "../create/admission.ts";
import type { Engine, RunInTurn } from "../engine/engine.ts";
import type { Sandbox } from "../engine/sandbox.ts";
import { failedVerb } from "../failed-verb.ts";
import { pause } from "../transitions/pause.ts";
import { resume } from "../transitions/resume.ts";

export interface RollbackServiceParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "holdPlace">;
  readonly templates: Templates;
  readonly driver: Pick<SandboxDriver, "capabilities">;
  readonly events: Events;
  readonly clock: { now(): number };
}

/** Rolls sandboxes back to their snapshots. */
export class RollbackService {
  private readonly parts: RollbackServiceParts;

  constructor(parts: RollbackServiceParts) {
    this.parts = parts;
  }

  /**
   * A sandbox goes on from a snapshot that was made of it, or that it was made from. It keeps its id, token, metadata, network and the time that
   * it has left; a paused sandbox runs afterwards. The sandbox is paused first: when the rollback fails, it is resumed from the generation of
   * that pause and runs on as before. A server that dies in between leaves the sandbox paused, with the memory and disk of before.
   * Throws `not_found`; `invalid_argument` for a snapshot of another sandbox; `aborted` while the sandbox changes; `resource_exhausted`
   * when it is paused and there is no place for it; `unavailable`.
   */
  async rollback(teamId: TeamId, id: SandboxId, snapshotId: string): Promise<void> {
    const { engine, admission, templates, events } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const from = refOf(sandbox, versionOf(templates, teamId, snapshotId));
    await engine.inTurn(sandbox, (run) => admission.holdPlace(sandbox, () => this.goBack(sandbox, from, run)));
    events.rolledBack(sandbox.record, from.snapshot);
  }

  private async goBack(sandbox: Sandbox, from: SnapshotRef, run: RunInTurn): Promise<void> {
    const { clock, driver } = this.parts;
    const { endAt, facts, state } = sandbox.record;
    const hasRoom = state === "running";
    const timeoutMs = hasRoom ? endAt - clock.now() : facts.timeoutMs;
    const memory = driver.capabilities.checkpoint === "memory";
    try {
      if (hasRoom) await run(pause, { memory });
      await run(resume, { timeoutMs, memory: from.memory, from }, { hasRoom });
    } catch (error) {
      if (hasRoom && sandbox.state === "paused") await run(resume, { timeoutMs, memory }, { hasRoom }).catch(() => {});
      throw failure(sandbox, error);
    }
  }
}

function versionOf(templates: Templates, teamId: TeamId, snapshotId: string): TemplateVersion {
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

function failure({ id, state }: Sandbox, error: unknown): AppError {
  if (error instanceof AppError && error.reason === "wrong_state") {
    const message = `Sandbox '${id}' cannot be rolled back while in '${String(error.details.state)}' state`;
    return new AppError("aborted", message, { reason: "cannot_roll_back", cause: error });
  }
  if (error instanceof AppError && ["not_found", "aborted", "canceled", "unimplemented"].includes(error.code)) return error;
  const how = state === "running" ? "runs on as before" : "is paused as before";
  return failedVerb(`The sandbox could not be rolled back and ${how}`, "rollback_failed", error);
}
