import type { ConnectionOptions } from "../connection/config.ts";
import type { BuildOpts } from "./build.ts";
import type { SecretMount } from "./steps.ts";

export interface TemplateOpts {
  /** Directory that the paths of `copy` begin at; its `.dockerignore` counts. Default: the working directory of this program. */
  readonly context?: string | undefined;
}

export interface DockerfileOpts extends TemplateOpts {
  /** Values for `ARG`. */
  readonly args?: Readonly<Record<string, string>> | undefined;
  /** Stage to build, by name or number. Default: the last one. */
  readonly target?: string | undefined;
  /** Path of the Dockerfile: errors name it, and `PATH.dockerignore` counts in place of `.dockerignore`. */
  readonly file?: string | undefined;
  /** Called with each instruction that has no effect on a template. */
  readonly onNote?: ((text: string) => void) | undefined;
}

export interface CopyOpts {
  /** Owner, or `owner:group`. Default: the user that the steps before have set. */
  readonly user?: string | undefined;
  /** Permission bits for all that is copied, e.g. `0o755`. Default: as the files have. */
  readonly mode?: number | undefined;
}

export interface RunOpts {
  /** Default: the user that the steps before have set. */
  readonly user?: string | undefined;
  /** Secrets of the build (`TemplateBuildOpts.secrets`) that the command needs; nothing of them stays. */
  readonly secrets?: readonly SecretMount[] | undefined;
}

export interface TemplateBuildOpts extends BuildOpts, ConnectionOptions {}
