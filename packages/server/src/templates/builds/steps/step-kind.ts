import type { TeamId, TemplateId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { TemplateStep } from "@boxyard/spec/platform";
import type { Uploads } from "../order/uploads.ts";
import type { Part, Session } from "../stage/session.ts";
import type { BuildState } from "../stage/state.ts";
import { expand } from "./expand.ts";
import type { RunCaches } from "./run-caches.ts";

export interface StepContext {
  readonly session: Session;
  readonly uploads: Uploads;
  readonly teamId: TeamId;
  readonly part: Part;
  readonly step: TemplateStep;
  /** Directory in which the tree of a stage `FROM scratch` is made; "" in all others, whose steps run in what they make. */
  readonly root: string;
  /** Image that a COPY takes its files out of, in place of an upload. */
  readonly from?: ImageRef | undefined;
  /** Images that bind mounts of a RUN take their files out of, by the mounts' places. */
  readonly mounted: readonly (ImageRef | undefined)[];
  /** What cache mounts find again, and of which template. */
  readonly caches: RunCaches;
  readonly templateId: TemplateId;
  /** Of the build, by their ids. */
  readonly secrets: Readonly<Record<string, string>>;
}

/** What a step comes to. Without a new image it has changed no file. */
export type StepKind = (args: readonly string[], state: BuildState, ctx: StepContext) => Promise<BuildState>;

/** The state with what was done to files since. */
export async function committed(state: BuildState, { session }: StepContext): Promise<BuildState> {
  return { ...state, image: await session.commit(state.image) };
}

/** As chown takes it: a user's name alone stands for its group too. */
export const ownerOf = (text: string) => (text.includes(":") || /^\d+$/.test(text) ? text : `${text}:`);

/** Puts in the build's own variables. */
export const expanded = (text: string, { env }: BuildState) => expand(text, (name) => (Object.hasOwn(env, name) ? env[name] : undefined));
