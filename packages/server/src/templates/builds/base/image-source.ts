import type { RegistryAccess } from "@boxyard/spec/platform";
import type { Pin } from "../../../images/pins.ts";
import type { TemplateFacts } from "../../images/template-image.ts";

/** An image from a registry, its layers in the driver's store. */
export interface PulledImage {
  /** Of its manifest, `sha256:…`. */
  readonly digest: string;
  /** Diff ids, lowest first. */
  readonly layers: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Of an archive that is of a template: the rest of what the template was. */
  readonly template?: TemplateFacts;
}

export interface PullRequest {
  readonly access?: RegistryAccess;
  readonly signal: AbortSignal;
  /** The image's triggers that are among the build's steps; the log names others. Undefined: nothing is built on it, so it has none. */
  readonly onBuildDone?: readonly string[] | undefined;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
  /** Holds the image's layers from before they are there. */
  readonly pin: Pin;
}

/** Where images that are not templates come from. */
export interface ImageSource {
  /** Makes an image's layers present. Throws `not_found`, `permission_denied` and the like with a sentence for people. */
  pull(reference: string, request: PullRequest): Promise<PulledImage>;
  /** The triggers of an image (ONBUILD). Throws as `pull` does. */
  triggers(reference: string, request: Pick<PullRequest, "access" | "signal">): Promise<readonly string[]>;
  /** As `pull`, out of an OCI archive, a file of this machine. */
  unpack(path: string, request: PullRequest): Promise<PulledImage>;
  /** Forgets what pulls that broke off long ago have left. */
  removeOld(): void;
}
