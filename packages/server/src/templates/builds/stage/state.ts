import { createHash } from "node:crypto";
import type { ImageRef } from "@boxyard/driver";

/** What a build has come to after some of its steps; what sandboxes of the finished template start with. */
export interface BuildState {
  readonly image: ImageRef;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  /** Of the finished template: what its start command listens on. */
  readonly ports?: readonly number[];
}

/** Raised when what steps do to the file system changes, so that older results are not used any more. */
const CACHE_VERSION = 2;

/** Key of a step's result: depends on everything before it, its kind and its arguments (docs/contract/templates.md). */
export function chainKey(previous: string, kind: string, args: readonly string[], filesHash = ""): string {
  return createHash("sha256")
    .update(JSON.stringify([CACHE_VERSION, previous, kind, args, filesHash]))
    .digest("hex");
}

/** Key to begin with: a template's image and settings, or an image. */
export function firstKey(kind: string, state: BuildState): string {
  return chainKey("", kind, [...state.image.layers, JSON.stringify(Object.entries(state.env).sort()), state.user, state.workdir]);
}

/** An image of layers that were made here; its name follows from them. */
export function imageOf(layers: readonly string[]): ImageRef {
  return { digest: `sha256:${createHash("sha256").update(JSON.stringify(layers)).digest("hex")}`, layers };
}
