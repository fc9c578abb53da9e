import type { SandboxRecord } from "../../store/index.ts";
import type { Engine } from "../engine/engine.ts";
import type { TemplateSource } from "../ports.ts";
import { createFailure } from "../problems.ts";
import { type CreateTemplate, createTransition } from "../transitions/create.ts";
import type { Admission } from "./admission.ts";

export interface MakerParts {
  readonly engine: Engine;
  readonly admission: Admission;
  readonly templates: Pick<TemplateSource, "countSpawn">;
}

/**
 * Makes a sandbox of a user when it is admitted, and returns when it runs. When this throws, the sandbox is removed, or the sweep removes
 * it; the error is one for the user (`createFailure`).
 */
export function makeSandbox(parts: MakerParts, wanted: SandboxRecord, input: CreateTemplate, caller: AbortSignal): Promise<SandboxRecord> {
  const { engine, admission, templates } = parts;
  return admission.create(wanted, caller, async (admitted) => {
    const sandbox = engine.add(admitted);
    try {
      const record = await engine.make(sandbox, createTransition, input, { signal: caller });
      templates.countSpawn(record.templateId, record.facts.buildId);
      return record;
    } catch (error) {
      throw createFailure(error, { caller, ended: sandbox.interrupted, isRemoved: sandbox.state === "dead" });
    }
  });
}
