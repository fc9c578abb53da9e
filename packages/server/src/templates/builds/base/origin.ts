import { isAppError, type TeamId } from "@boxyard/core";
import { imageOf } from "../../../images/image-of.ts";
import type { RunAs } from "../../../store/index.ts";
import { wholeImage } from "../../snapshots/whole-image.ts";
import type { Inherited } from "../finish/finalize.ts";
import { BuildFailure } from "../log/build-failure.ts";
import type { BuildLog } from "../log/build-log.ts";
import type { StageOrder } from "../order/build-order.ts";
import { IMAGE_USER } from "../stage/build-settings.ts";
import { type SessionDeps, withinLimit } from "../stage/open-sandbox.ts";
import type { Part, Session } from "../stage/session.ts";
import type { BuildState } from "../stage/state.ts";
import type { Uploads } from "../uploads.ts";
import type { ImageSource, PulledImage, PullRequest } from "./image-source.ts";
import { tellTriggers } from "./registry-images.ts";

/** The base of a stage. */
export interface Origin {
  /** The name in the log. */
  readonly name: string;
  readonly state: BuildState;
  /** True for a template of this server or of another: it needs no preparation before the steps. */
  readonly isTemplate: boolean;
  /** The start and ready command of the base, which hold unless the build has its own. */
  readonly inherited?: Inherited;
}

export interface OriginContext {
  readonly teamId: TeamId;
  readonly log: BuildLog;
  readonly session: Session;
  readonly deps: SessionDeps & {
    readonly uploads: Uploads;
    /** Undefined: builds can begin with templates only. */
    readonly images: ImageSource | undefined;
  };
}

/** Finds the base of a stage, and fetches its image. Throws `BuildFailure` when that fails. */
export async function originOf(stage: StageOrder, part: Part, context: OriginContext): Promise<Origin> {
  const { parent, fromImage = "", fromArchive } = stage;
  const { session, deps, teamId } = context;
  const say = (line: string) => context.log.add(`[${part.prefix}] ${line}`, part.step);
  if (parent) {
    const { name, tag, spec } = parent.version;
    if (parent.inherits) tellTriggers(spec.onBuild ?? [], stage.onBuildDone, say);
    const { layers } = await wholeImage(deps.driver, spec, session);
    const { env, user, workdir } = spec;
    const state = { image: imageOf(layers), env, user, workdir };
    return { name: `${name}:${tag}`, state, isTemplate: true, ...(parent.inherits ? { inherited: inheritedOf(spec) } : {}) };
  }
  const name = fromArchive === undefined ? fromImage : `archive ${fromArchive.slice(0, 12)}`;
  const fetched = await fetchImage(name, stage, part, context, (images, pull) =>
    fromArchive === undefined ? images.pull(name, pull) : images.unpack(deps.uploads.path(teamId, fromArchive), pull),
  );
  const { template, env } = fetched;
  const image = await withinLimit(deps.driver, fetched.layers, session.signal);
  await session.keep(image);
  const { user, workdir } = template ?? { user: IMAGE_USER, workdir: `/home/${IMAGE_USER}` };
  const state = { image, env, user, workdir };
  return {
    name,
    state,
    isTemplate: template !== undefined,
    ...(template ? { inherited: { ...inheritedOf(template), ...(template.onBuild ? { onBuild: template.onBuild } : {}) } } : {}),
  };
}

/** What builds on a template inherit. The commands keep the template's user and directory. */
function inheritedOf({ startCmd, readyCmd, runAs, user, workdir, restrictions }: Inherited & RunAs): Inherited {
  const commands = { ...(startCmd ? { startCmd } : {}), ...(readyCmd ? { readyCmd } : {}), runAs: runAs ?? { user, workdir } };
  return { ...commands, ...(restrictions ? { restrictions } : {}) };
}

async function fetchImage(
  name: string,
  { name: stage, steps, access, onBuildDone: done }: StageOrder,
  part: Part,
  { deps, session, log }: OriginContext,
  get: (images: ImageSource, request: PullRequest) => Promise<PulledImage>,
): Promise<PulledImage> {
  const { images } = deps;
  const { signal, pin } = session;
  if (!images) throw new BuildFailure(`fromImage: this server can't fetch '${name}': it has no access to registries`, part.step);
  const say = (line: string) => log.add(`[${part.prefix}] ${line}`, part.step);
  const onBuildDone = stage !== undefined && steps.length === 0 ? undefined : done;
  try {
    return await get(images, { signal, pin, say, onBuildDone, ...(access ? { access } : {}) });
  } catch (error) {
    signal.throwIfAborted();
    if (isAppError(error)) throw new BuildFailure(`failed to fetch the image '${name}': ${error.message}`, part.step, error);
    throw error;
  }
}
