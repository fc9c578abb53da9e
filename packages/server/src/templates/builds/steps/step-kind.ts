import type { TeamId, TemplateId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { TemplateStep } from "@boxyard/spec/platform";
import type { Part, Session } from "../stage/session.ts";
import type { BuildState } from "../stage/state.ts";
import type { Uploads } from "../uploads.ts";
import { expand } from "./expand.ts";
import type { RunCaches } from "./run-caches.ts";

export interface StepContext {
  readonly session: Session;
  readonly uploads: Uploads;
  readonly teamId: TeamId;
  readonly part: Part;
  readonly step: TemplateStep;
  /** Directory in which the tree of a stage `FROM scratch` is made; "" in all other stages. */
  readonly root: string;
  /** Image that a COPY copies from, in place of an upload. */
  readonly from?: ImageRef | undefined;
  /** Images that bind mounts of a RUN copy from, by the mounts' indexes. */
  readonly mounted: readonly (ImageRef | undefined)[];
  /** Contents of cache mounts, kept for each template. */
  readonly caches: RunCaches;
  readonly templateId: TemplateId;
  /** Values of the build's secrets by their ids. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** Runs a step and returns the new state. The image is the same if the step has changed no file. */
export type StepKind = (args: readonly string[], state: BuildState, ctx: StepContext) => Promise<BuildState>;

/** Makes a layer of the changed files, and returns the state with it. */
export async function committed(state: BuildState, { session }: StepContext): Promise<BuildState> {
  return { ...state, image: await session.commit(state.image) };
}

/** An owner for chown: a user's name alone means its group too. */
export const ownerOf = (text: string) => (text.includes(":") || /^\d+$/.test(text) ? text : `${text}:`);

/** Replaces variables by those of the build. */
export const expanded = (text: string, { env }: BuildState) => expand(text, (name) => (Object.hasOwn(env, name) ? env[name] : undefined));
