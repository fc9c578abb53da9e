import type { SandboxId, TeamId, TemplateId } from "@boxyard/core";
import type { SandboxRecord, SandboxVolume, SnapshotOrigin, TemplateSettings, TemplateSpec, TemplateVersion } from "../store/index.ts";

/** What sandboxes need of templates. `templates/` has it; the two meet in `context.ts`. */
export interface TemplateSource {
  /** The version that a client's text means. Throws `not_found`, and `invalid_argument`, whose message begins with `field`. */
  resolve(teamId: TeamId, text: string, field?: string): TemplateVersion;
  /** Undefined for a template that does not exist. */
  get(id: TemplateId): object | undefined;
  /** Whether a tag of the template points to the build: clients that name the template can get it. */
  isTagged(id: TemplateId, buildId: string | undefined): boolean;
  /** What holds for the sandboxes of a template. */
  settingsOf(id: TemplateId): TemplateSettings;
  /** The ids of the templates that a name or an id means. */
  idsFor(nameOrId: string): ReadonlySet<string>;
  /** Counts a sandbox that was made of a template; never throws. */
  countSpawn(id: TemplateId, buildId: string | undefined): void;
}

/** The name and tag of a new snapshot. */
export interface SnapshotName {
  readonly name?: string;
  readonly tag: string;
}

/** A snapshot as clients know it. */
export interface ListedSnapshot {
  /** A reference that a create accepts: `team/name:tag`, or `<template id>:tag` for a snapshot without a name. */
  readonly id: string;
  /** Every `team/name:tag` that means it; without the tag where that is the default one. */
  readonly names: readonly string[];
  readonly sandboxId: SandboxId;
  readonly buildId: string;
  readonly checkpointId: string;
  /** Milliseconds since 1970. */
  readonly createdAt: number;
  /** Volumes of that sandbox, of which the snapshot keeps nothing. */
  readonly volumes?: readonly SandboxVolume[] | undefined;
}

export interface SnapshotFilter {
  readonly sandboxId?: string | undefined;
  /** A name, `name:tag` or an id. */
  readonly name?: string | undefined;
}

/** Where captured sandboxes are noted under names. `templates/` has it. */
export interface SnapshotNotes {
  /** Parses the name of a new snapshot. Throws `invalid_argument`; `already_exists` for the name of something else. */
  nameFor(teamId: TeamId, text: string | undefined): Promise<SnapshotName>;
  /** Notes a snapshot that the driver has captured. */
  add(source: SandboxRecord, name: SnapshotName, captured: Pick<SnapshotOrigin, "id" | "memory">): Promise<ListedSnapshot>;
  /** The `envVars` of the sandbox that was captured; none for a version that is no snapshot. */
  envOf(spec: TemplateSpec): Readonly<Record<string, string>>;
  /** A team's snapshots that match a filter, in no order. */
  list(teamId: TeamId, filter: SnapshotFilter): ListedSnapshot[];
}
