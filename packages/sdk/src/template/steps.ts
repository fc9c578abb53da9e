import type { VolumeMounts } from "../volumes/volume-types.ts";
import type { CallSite } from "./call-site.ts";
import type { ContextSources, SentSource } from "./context-files.ts";
import type { CopySource, TextSource } from "./copy-source.ts";
import type { UrlSources } from "./url-files.ts";

export type { VolumeMounts } from "../volumes/volume-types.ts";

/** A secret of a build for one command, as a file of the command's user or as an environment variable. */
export interface SecretMount {
  /** Name of the secret in `TemplateBuildOpts.secrets`. */
  readonly id: string;
  /** Path of the file. Default: `/run/secrets/ID`, unless `env` is set. */
  readonly target?: string | undefined;
  /** Name of the environment variable. */
  readonly env?: string | undefined;
  /** Permission bits of the file in octal digits. Default `0400`. */
  readonly mode?: string | undefined;
  /** True: the build fails without the secret. False, the default: the command runs anyway. */
  readonly required?: boolean | undefined;
}

/** Files that are there while a command runs, and enter no layer. */
export interface RunMount {
  readonly type: "cache" | "bind";
  /** Path inside; a relative one begins at the working directory. */
  readonly target: string;
  /** cache: its name. Default: the target. */
  readonly id?: string | undefined;
  /** cache: `UID:GID` of the directory. Default `0:0`. */
  readonly owner?: string | undefined;
  /** cache: permission bits of the directory in octal digits. Default `0755`. */
  readonly mode?: string | undefined;
  /** cache: what the command changes is not kept. */
  readonly readonly?: boolean | undefined;
  /** bind: path in the stage. */
  readonly source?: string | undefined;
  /** bind: stage that the files are in, in place of the context. */
  readonly fromStage?: string | undefined;
  readonly sources?: readonly SentSource[] | undefined;
  readonly filesHash?: string | undefined;
}

/** One instruction of a build, as the server takes it (docs/contract/templates.md, Steps, and what our server takes besides). */
export interface Step {
  readonly type: "COPY" | "ADD" | "RUN" | "ENV" | "WORKDIR" | "USER";
  readonly args: readonly string[];
  /** True: do it again, and all that follows, even if a build like it is in the cache. */
  readonly force: boolean;
  /** COPY: template or stage that it copies out of. */
  readonly from?: string | undefined;
  readonly fromStage?: string | undefined;
  /** COPY and ADD of a Dockerfile: what to copy, in place of the first argument. */
  readonly sources?: readonly (SentSource | { readonly path: string })[] | undefined;
  /** RUN: variables of this step alone. */
  readonly env?: Readonly<Record<string, string>> | undefined;
  /** RUN: secrets of the build that are there while it runs. */
  readonly secrets?: readonly SecretMount[] | undefined;
  /** RUN: files of other places. */
  readonly mounts?: readonly RunMount[] | undefined;
  /** How logs show it. */
  readonly text?: string | undefined;
}

export type TemplateStep = Step & {
  readonly copy?: CopySource | ContextSources | UrlSources | TextSource;
  /** RUN: what its bind mounts take out of the context, by their places in `mounts`. */
  readonly bound?: ReadonlyMap<number, ContextSources>;
  /** Who asked for it. */
  readonly at?: CallSite | undefined;
};

/** What others copy files out of. */
export interface TemplateStage {
  readonly name: string;
  readonly origin: TemplateOrigin;
  readonly steps: readonly TemplateStep[];
  /** Triggers (ONBUILD) of its origin that are among the steps. */
  readonly onBuildDone?: readonly string[] | undefined;
  readonly at?: CallSite | undefined;
}

/** Login of a registry, for images that are not public. */
export type RegistryAccess =
  | { readonly type: "registry"; readonly username: string; readonly password: string }
  | { readonly type: "aws"; readonly awsAccessKeyId: string; readonly awsSecretAccessKey: string; readonly awsRegion: string }
  | { readonly type: "gcp"; readonly serviceAccountJson: string };

/** What a template begins with. */
export type TemplateOrigin =
  | { readonly fromTemplate: string }
  | { readonly fromImage: string; readonly fromImageRegistry?: RegistryAccess | undefined }
  /** Path of an OCI archive on this machine. */
  | { readonly fromArchive: string };

/** Restrictions of a template's sandboxes. Default of each: as in the template that this one is based on, else off. */
export interface TemplateRestrictions {
  /** True: a program gets no additional privileges when it starts, so neither `sudo` nor file capabilities (`ping`) work. */
  readonly noNewPrivileges?: boolean | undefined;
  /** True: root cannot inspect processes of other users; users can still debug their own programs. */
  readonly noPtrace?: boolean | undefined;
  /** Number of files that one process may have open, at least 1,024. The server's limit (16,384 unless its operator set another) applies too. */
  readonly maxOpenFiles?: number | undefined;
}

export interface DockerfileParts {
  readonly parts: TemplateParts;
  readonly again: (triggers: ReadonlyMap<string, readonly string[]>) => TemplateParts;
}

/** Everything that makes a template. */
export interface TemplateParts {
  readonly origin: TemplateOrigin;
  readonly steps: readonly TemplateStep[];
  /** In the order in which they are built. */
  readonly stages?: readonly TemplateStage[] | undefined;
  readonly startCmd?: string | undefined;
  readonly readyCmd?: string | undefined;
  readonly restrictions?: TemplateRestrictions | undefined;
  readonly startFromMemory?: boolean | undefined;
  readonly volumes?: VolumeMounts | undefined;
  /** Instructions for Dockerfiles that build on it, and those of its own origin that are among the steps (ONBUILD). */
  readonly onBuild?: readonly string[] | undefined;
  readonly onBuildDone?: readonly string[] | undefined;
  /** The Dockerfile that it is of: what that came to, and what it comes to with triggers of what it begins with. */
  readonly dockerfile?: DockerfileParts | undefined;
  /** Steps that follow are not taken from the cache. */
  readonly force: boolean;
  /** Who asked for the origin, and for the start and ready commands. */
  readonly at?: CallSite | undefined;
  readonly startAt?: CallSite | undefined;
}

/** A step as it is sent. */
export type SentStep = Step & { readonly filesHash?: string };
