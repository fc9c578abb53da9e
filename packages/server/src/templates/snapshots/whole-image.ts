import type { ImageRef, SandboxDriver } from "@boxyard/driver";
import { imageOf } from "../../images/image-of.ts";
import type { Pin } from "../../images/pins.ts";
import type { TemplateSpec } from "../../store/index.ts";

/**
 * The image with everything that sandboxes of a version have on their disk: the changes that a snapshot holds above its image become one more layer.
 * The driver makes that layer when it is first needed, and it is collected like any other. `pin` holds all layers.
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
