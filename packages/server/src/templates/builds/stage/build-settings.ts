/**
 * Settings of the machine that builds get (docs/decisions.md, Company networks): the sources of packages and the certificate authorities, so that
 * package managers work in a build. They are there during builds only, and are not in the result.
 */
export interface BuildSettings {
  /** Contents of files by their absolute path in the sandbox; none of them is in a layer. */
  readonly files: Readonly<Record<string, string>>;
  /** Environment of every command of a build. */
  readonly env: Readonly<Record<string, string>>;
  /** Secrets that a step gets when it asks for them. A secret of the build with the same id takes precedence. */
  readonly secrets: Readonly<Record<string, string>>;
  /** Texts, from files and secrets, that must not be in a log. */
  readonly passwords: readonly string[];
}

export const noBuildSettings = async (): Promise<BuildSettings> => ({ files: {}, env: {}, secrets: {}, passwords: [] });

/** Directory in a build's sandbox for files that must not be in a layer. */
export const BUILD_DIRECTORY = "/run/boxyard-build";

/** The default PATH. */
export const STANDARD_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/** The user of sandboxes on images from registries and archives, as in `base` (docs/contract/templates.md). */
export const IMAGE_USER = "user";
