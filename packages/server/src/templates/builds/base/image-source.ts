import type { RegistryAccess } from "@boxyard/spec/platform";
import type { Pin } from "../../../images/pins.ts";
import type { TemplateFacts } from "../../images/template-image.ts";

/** An image from a registry or an archive; its layers are in the driver's store. */
export interface PulledImage {
  /** Digest of its manifest, `sha256:…`. */
  readonly digest: string;
  /** Diff ids, lowest first. */
  readonly layers: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** For an archive of a template: the template's other facts. */
  readonly template?: TemplateFacts;
}

export interface PullRequest {
  readonly access?: RegistryAccess;
  readonly signal: AbortSignal;
  /** The image's triggers that are among the build's steps; the log names the others. Undefined: no step runs on the image, so triggers do not matter. */
  readonly onBuildDone?: readonly string[] | undefined;
  /** Called with each line of progress. */
  readonly say: (line: string) => void;
  /** Holds the image's layers as soon as they are known. */
  readonly pin: Pin;
}

/** Fetches images that are not templates. */
export interface ImageSource {
  /** Fetches an image's layers. Throws `not_found`, `permission_denied` and others, with a message for the owner of the build. */
  pull(reference: string, request: PullRequest): Promise<PulledImage>;
  /** The triggers of an image (ONBUILD). Throws as `pull` does. */
  triggers(reference: string, request: Pick<PullRequest, "access" | "signal">): Promise<readonly string[]>;
  /** As `pull`, from an OCI archive in a file of this machine. */
  unpack(path: string, request: PullRequest): Promise<PulledImage>;
  /** Removes files of pulls that failed long ago. */
  removeOld(): void;
}
