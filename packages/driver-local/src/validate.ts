import { AppError } from "@boxyard/core";
import { checkSpec, type SandboxSpec } from "@boxyard/driver";
import { MAX_LAYERS } from "./images/index.ts";

/** As `checkSpec`; reason `too_many_layers` for an image of more layers than overlay takes. */
export function validateSpec(spec: SandboxSpec): void {
  checkSpec(spec);
  if (spec.image.layers.length > MAX_LAYERS) {
    throw new AppError("invalid_argument", `An image of more than ${MAX_LAYERS} layers is more than overlay takes here; merge some`, {
      reason: "too_many_layers",
    });
  }
}
