import type { ImageRef, SandboxDriver } from "@boxyard/driver";
import type { Pin } from "../../images/pins.ts";
import type { TemplateSpec } from "../../store/index.ts";
import { imageOf } from "../builds/stage/state.ts";

/**
 * Everything that sandboxes of a version find on their disk, as layers: what a snapshot holds above its image becomes one more. The layer is made
 * when it is first needed (all of it is read) and collected like any other; `pin` holds it.
 */
export async function wholeImage(
  { snapshots }: Pick<SandboxDriver, "snapshots">,
  { image, snapshot }: Pick<TemplateSpec, "image" | "snapshot">,
  { signal, pin }: { readonly signal: AbortSignal; readonly pin: Pin },
): Promise<ImageRef> {
  pin.add(image.layers);
  if (!snapshot) return image;
  const { digest } = await snapshots.toLayer(snapshot.id, { signal });
  pin.add([digest]);
  return imageOf([...image.layers, digest]);
}
