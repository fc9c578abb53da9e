import { AppError, isAppError, type SandboxId, type TeamId } from "@boxyard/core";
import type { ResourceLimits } from "@boxyard/driver";
import { resourcesOf, type SandboxRecord } from "../../store/index.ts";
import type { Admission } from "../create/admission.ts";
import { checkSize, mostOfMachine, OF_TEMPLATE, resizedTo, type Size } from "../create/size.ts";
import type { Engine } from "../engine/engine.ts";
import type { TemplateSource } from "../ports.ts";
import { resize } from "../transitions/resize.ts";

export interface ResizingParts {
  readonly engine: Engine;
  readonly admission: Pick<Admission, "grow" | "checkSize">;
  readonly templates: Pick<TemplateSource, "settingsOf">;
}

/** Changes the limits of running sandboxes. */
export class Resizing {
  private readonly parts: ResizingParts;

  constructor(parts: ResizingParts) {
    this.parts = parts;
  }

  /**
   * Changes limits of a running sandbox, at once. When that fails, they are as before. Throws `not_found`; `aborted` for a sandbox that does not run;
   * `invalid_argument`, reason `size_too_large`, above what the machine has or the template allows; `failed_precondition`, reason `memory_in_use` or
   * `disk_in_use`, with the figure, below what the sandbox uses; `unavailable`, reason `sandbox_capacity_unavailable`; `resource_exhausted`, reason `team_limit`; `unimplemented`.
   */
  async resize(teamId: TeamId, id: SandboxId, wanted: Size): Promise<SandboxRecord> {
    const { engine, admission, templates } = this.parts;
    const sandbox = engine.sandboxes.visibleOf(teamId, id);
    const { driver } = sandbox;
    if (!driver.capabilities.resize) {
      throw new AppError("unimplemented", "The size of a running sandbox cannot be changed on this server", { reason: "fixed_size" });
    }
    checkSize(wanted, templates.settingsOf(sandbox.record.templateId).maxResources ?? {}, OF_TEMPLATE);
    checkSize(wanted, await mostOfMachine(driver));
    const present = resourcesOf(sandbox.record);
    const next = resizedTo(present, wanted);
    if (!driver.capabilities.resizeDisk && next.diskBytes !== present.diskBytes) {
      throw new AppError("unimplemented", "The disk of a running sandbox cannot be changed on this server", { reason: "fixed_disk" });
    }
    const more = {
      ...next,
      memoryBytes: Math.max(0, next.memoryBytes - present.memoryBytes),
      diskBytes: Math.max(0, next.diskBytes - present.diskBytes),
    };
    const to = (now: ResourceLimits) => {
      const then = resizedTo(now, wanted);
      const isMore = then.cpuCount > now.cpuCount || then.memoryBytes > now.memoryBytes || then.diskBytes > now.diskBytes;
      if (isMore) admission.checkSize(sandbox, then);
      return then;
    };
    const work = () => engine.run(sandbox, resize, { to });
    try {
      return await (more.memoryBytes > 0 || more.diskBytes > 0 ? admission.grow(sandbox, more, work) : work());
    } catch (error) {
      if (!isAppError(error, "wrong_state")) throw error;
      throw new AppError("aborted", `Sandbox '${id}' does not run: resume it first, then change its size`, {
        reason: "not_running",
        cause: error,
      });
    }
  }
}
