import { createHash } from "node:crypto";
import { InvalidArgumentError } from "../errors.ts";
import type { TemplateParts, TemplateStage } from "./steps.ts";

/** A template as a stage of another one, after the stages that it needs. Equal ones have the same name. */
export function asStage({ origin, steps, stages = [], at }: TemplateParts): { origin: { fromStage: string }; stages: TemplateStage[] } {
  if ("fromArchive" in origin) {
    throw new InvalidArgumentError("copyFrom: a template that begins with an archive must be built first", { code: "invalid_argument" });
  }
  const content = JSON.stringify([origin, steps.map((step) => ({ ...step, at: undefined }))]);
  const name = `stage-${createHash("sha256").update(content).digest("hex").slice(0, 12)}`;
  return { origin: { fromStage: name }, stages: [...stages, { name, origin, steps, at }] };
}
