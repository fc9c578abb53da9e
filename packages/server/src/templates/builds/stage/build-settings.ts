/**
 * What builds take along of the machine they run on (docs/decisions.md, Company networks): where packages come from and whom to trust, so that the
 * ordinary package managers work inside. It is there during builds only and leaves no trace in what is built.
 */
export interface BuildSettings {
  /** Files by their absolute path inside; none of them enters a layer. */
  readonly files: Readonly<Record<string, string>>;
  /** Environment of every command of a build. */
  readonly env: Readonly<Record<string, string>>;
  /** Secrets that a step gets when it asks for them, beside those of the build, which win. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Parts of files and secrets that must be in no log. */
  readonly passwords: readonly string[];
}

export const NO_BUILD_SETTINGS: BuildSettings = { files: {}, env: {}, secrets: {}, passwords: [] };

/** Directory inside a build's sandbox for what must not enter a layer. */
export const BUILD_DIRECTORY = "/run/boxyard-build";

/** Where programs are looked for unless an image says otherwise. */
export const STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** Of images from elsewhere: sandboxes run as this user, as those of `base` do (docs/contract/templates.md). */
export const IMAGE_USER = "user";
