import { createHash } from "node:crypto";
import type { ImageRef } from "@boxyard/driver";

/** The image of layers that were made here; its digest is a hash of their list. */
export function imageOf(layers: readonly string[]): ImageRef {
  return { digest: `sha256:${createHash("sha256").update(JSON.stringify(layers)).digest("hex")}`, layers };
}
