import { createHash } from "node:crypto";
import type { ImageRef } from "@boxyard/driver";

/** The result of a build's steps so far, and in the end what sandboxes of the template start with. */
export interface BuildState {
  readonly image: ImageRef;
  readonly env: Readonly<Record<string, string>>;
  readonly user: string;
  readonly workdir: string;
  /** Ports that the start command listens on; set for the finished template. */
  readonly ports?: readonly number[];
}

/** Part of each key. Raised when the effect of steps on the file system changes, so that older results are not used. */
const CACHE_VERSION = 2;

/** Key of a step's result: depends on everything before it, its kind and its arguments (docs/contract/templates.md). */
export function chainKey(previous: string, kind: string, args: readonly string[], filesHash = ""): string {
  return createHash("sha256")
    .update(JSON.stringify([CACHE_VERSION, previous, kind, args, filesHash]))
    .digest("hex");
}

/** The first key of a chain: of a template's image and settings, or of an image. */
export function firstKey(kind: string, state: BuildState): string {
  return chainKey("", kind, [...state.image.layers, JSON.stringify(Object.entries(state.env).sort()), state.user, state.workdir]);
}
