import type { TeamId } from "@boxyard/core";
import type { RegistryAccess, TemplateStep } from "@boxyard/spec/platform";
import type { BuildRequest } from "../../../secrets/build-secrets.ts";
import type { BuildRecord, TemplateVersion } from "../../../store/index.ts";

/** A base and the steps on it: the template itself, or a stage that others copy from. */
export interface StageOrder {
  /** Undefined for the template itself. */
  readonly name?: string;
  readonly steps: readonly TemplateStep[];
  /** The template that the stage builds on; undefined for an image from a registry or an archive. */
  readonly parent?: { readonly version: TemplateVersion; readonly inherits: boolean };
  readonly fromImage?: string;
  /** The stage begins with an empty image (`FROM scratch`): its tree is made in a directory of `parent`, whose files are not in the result. */
  readonly isEmpty?: true;
  /** The base's triggers that are among the steps. */
  readonly onBuildDone: readonly string[];
  readonly access?: RegistryAccess;
  /** Hash of an archive that was uploaded. */
  readonly fromArchive?: string;
  /** Templates that COPY steps copy from, by the step's index. */
  readonly copiedFrom: ReadonlyMap<number, TemplateVersion>;
}

/** A checked request to start a build, with its names resolved. */
export interface BuildOrder extends StageOrder {
  readonly build: BuildRecord;
  readonly teamId: TeamId;
  readonly request: BuildRequest;
  /** Stages that the template or later stages copy from, in the order in which they are built. */
  readonly stages: readonly StageOrder[];
}
