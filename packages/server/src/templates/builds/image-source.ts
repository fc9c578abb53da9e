import type { RegistryAccess } from "@boxyard/spec/platform";

/** An image from a registry, its layers in the driver's store. */
export interface PulledImage {
  /** Of its manifest, `sha256:…`. */
  readonly digest: string;
  /** Diff ids, lowest first. */
  readonly layers: readonly string[];
  readonly env: Readonly<Record<string, string>>;
}

/** Where images that are not templates come from. */
export interface ImageSource {
  /**
   * Makes an image's layers present. Throws `not_found`, `unauthenticated` and the like with a sentence for people.
   * `say` tells of progress, a line each.
   */
  pull(
    reference: string,
    options: { readonly access?: RegistryAccess; readonly signal: AbortSignal; readonly say: (line: string) => void },
  ): Promise<PulledImage>;
}
