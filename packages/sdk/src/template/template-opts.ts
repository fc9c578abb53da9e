import type { ConnectionOptions } from "../connection/config.ts";
import type { BuildOpts } from "./build.ts";
import type { SecretMount } from "./steps.ts";

export interface TemplateOpts {
  /** Directory with the files for `copy`; its `.dockerignore` applies. Default: the working directory of this program. */
  readonly context?: string | undefined;
}

export interface DockerfileOpts extends TemplateOpts {
  /** Values for `ARG`. */
  readonly args?: Readonly<Record<string, string>> | undefined;
  /** Stage to build, by name or number. Default: the last one. */
  readonly target?: string | undefined;
  /** Path of the Dockerfile, for errors. If `PATH.dockerignore` exists, it replaces `.dockerignore`. */
  readonly file?: string | undefined;
  /** Called with each instruction that has no effect on a template. */
  readonly onNote?: ((text: string) => void) | undefined;
}

export interface CopyOpts {
  /** Owner, or `owner:group`. Default: the user that earlier steps have set. */
  readonly user?: string | undefined;
  /** Permission bits for everything that is copied, e.g. `0o755`. Default: those of the source. */
  readonly mode?: number | undefined;
}

export interface RunOpts {
  /** Default: the user that earlier steps have set. */
  readonly user?: string | undefined;
  /** Secrets of the build (`TemplateBuildOpts.secrets`) that the command needs. The template does not contain them. */
  readonly secrets?: readonly SecretMount[] | undefined;
}

export interface TemplateBuildOpts extends BuildOpts, ConnectionOptions {}
