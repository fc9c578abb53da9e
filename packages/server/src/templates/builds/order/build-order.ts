import type { TeamId } from "@boxyard/core";
import type { RegistryAccess, StartBuild, TemplateStep } from "@boxyard/spec/platform";
import type { BuildRecord, TemplateVersion } from "../../../store/index.ts";

/** Steps on a base: what a template comes from, or a stage that others copy out of. */
export interface StageOrder {
  /** Undefined: it is the template itself. */
  readonly name?: string;
  readonly steps: readonly TemplateStep[];
  /** What it builds on, unless that is an image from elsewhere. */
  readonly parent?: { readonly version: TemplateVersion; readonly inherits: boolean };
  readonly fromImage?: string;
  /** Begins with nothing (`FROM scratch`): its tree is made in a directory of `parent`, whose files are no part of what comes of it. */
  readonly isEmpty?: true;
  /** Of the triggers of what it begins with those that are among the steps. */
  readonly onBuildDone: readonly string[];
  readonly access?: RegistryAccess;
  /** Hash of an archive that was uploaded. */
  readonly fromArchive?: string;
  /** Templates that COPY steps take their files out of, by the step's index. */
  readonly copiedFrom: ReadonlyMap<number, TemplateVersion>;
}

/** A build as it was started: everything checked, names looked up. */
export interface BuildOrder extends StageOrder {
  readonly build: BuildRecord;
  readonly teamId: TeamId;
  readonly request: StartBuild;
  /** In the order in which they are built. */
  readonly stages: readonly StageOrder[];
}
