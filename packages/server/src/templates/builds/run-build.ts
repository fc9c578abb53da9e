import { type Clock, isAppError, type TeamId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { RegistryAccess, StartBuild, TemplateStep } from "@boxyard/spec/platform";
import type { Pin } from "../../images/pins.ts";
import type { BuildRecord, Store, TemplateSpec, TemplateVersion } from "../../store/index.ts";
import { BuildFailure } from "./build-failure.ts";
import type { BuildLog } from "./build-log.ts";
import { type Commands, FINALIZE, factsTar, specOf, tryStart } from "./finalize.ts";
import type { ImageSource, PulledImage, PullRequest } from "./image-source.ts";
import { OPEN_UP_SCRIPT, PROVISION_SCRIPT, USER_SCRIPT } from "./scripts.ts";
import { type Part, Session } from "./session.ts";
import { type BuildState, chainKey, firstKey, imageOf } from "./state.ts";
import { runStep } from "./steps.ts";
import type { Uploads } from "./uploads.ts";
import { type WorkspaceDeps, withinLimit } from "./workspace.ts";

export interface RunBuildDeps extends WorkspaceDeps {
  readonly store: Store;
  readonly clock: Clock;
  readonly uploads: Uploads;
  /** Undefined: no image but templates' can be built on. */
  readonly images: ImageSource | undefined;
}

/** A build as it was started: everything checked, names looked up. */
export interface BuildOrder {
  readonly build: BuildRecord;
  readonly teamId: TeamId;
  readonly request: StartBuild;
  /** What it builds on, unless that is an image from elsewhere. */
  readonly parent?: { readonly version: TemplateVersion; readonly inherits: boolean };
  readonly access?: RegistryAccess;
  /** What COPY steps take their files out of, by the step's index. */
  readonly copiedFrom: ReadonlyMap<number, TemplateVersion>;
}

/** What a build begins with. */
interface Origin {
  /** For people. */
  readonly name: string;
  readonly state: BuildState;
  /** Made here, or on another server like this: ready for steps. */
  readonly isTemplate: boolean;
  /** Of the template whose start and ready command hold unless the build has its own. */
  readonly inherited?: Commands;
}

const BASE: Part = { step: "base", prefix: "base" };
/** Of images from elsewhere: sandboxes run as this user, as those of `base` do (wire.md 5.3). */
const IMAGE_USER = "user";

/** Runs one build from its base to what sandboxes start from. Throws `BuildFailure` for what the build itself got wrong. */
export async function runBuild(
  order: BuildOrder,
  deps: RunBuildDeps,
  log: BuildLog,
  hold: { signal: AbortSignal; pin: Pin },
): Promise<TemplateSpec> {
  const session = new Session(deps, order.build, log, hold);
  try {
    return await new BuildRun(order, deps, log, session).run();
  } finally {
    await session.close();
  }
}

class BuildRun {
  private readonly order: BuildOrder;
  private readonly deps: RunBuildDeps;
  private readonly log: BuildLog;
  private readonly session: Session;
  private key = "";
  /** From here on nothing is taken from the cache. */
  private isForced: boolean;

  constructor(order: BuildOrder, deps: RunBuildDeps, log: BuildLog, session: Session) {
    this.order = order;
    this.deps = deps;
    this.log = log;
    this.session = session;
    this.isForced = order.request.force;
  }

  async run(): Promise<TemplateSpec> {
    const { request } = this.order;
    const origin = await this.origin();
    let state = await this.base(origin);
    for (const [i, step] of request.steps.entries()) state = await this.step(step, i, state);
    const { inherited } = origin;
    const overrides = request.startCmd !== undefined || request.readyCmd !== undefined;
    const commands: Commands = overrides ? pick(request) : pick(inherited ?? {});
    return this.finalize(state, commands);
  }

  /** What to build on, as it is. */
  private async origin(): Promise<Origin> {
    const { parent, request, teamId } = this.order;
    const { fromArchive } = request;
    if (parent) {
      const { name, tag, spec } = parent.version;
      this.session.pin.add(spec.image.layers);
      return { name: `${name}:${tag}`, state: stateOf(spec), isTemplate: true, ...(parent.inherits ? { inherited: spec } : {}) };
    }
    const name = fromArchive === undefined ? (request.fromImage ?? "") : `archive ${fromArchive.slice(0, 12)}`;
    const fetched = await this.fetch(name, (images, pull) => {
      if (fromArchive === undefined) return images.pull(name, pull);
      return images.unpack(this.deps.uploads.path(teamId, fromArchive), pull);
    });
    const { template, env } = fetched;
    const image = await withinLimit(this.deps.driver, fetched.layers, this.session.signal);
    await this.session.keep(image);
    const { user, workdir } = template ?? { user: IMAGE_USER, workdir: `/home/${IMAGE_USER}` };
    return { name, state: { image, env, user, workdir }, isTemplate: template !== undefined, ...(template ? { inherited: template } : {}) };
  }

  /** The image to build on, made ready for the steps. That part is taken from the cache whatever is forced: no step is in it. */
  private async base({ name, state, isTemplate }: Origin): Promise<BuildState> {
    this.key = firstKey(isTemplate ? "template" : "image", state);
    const forced = this.isForced;
    this.isForced = false;
    const ready = await this.cached(`FROM ${name}`, BASE, state, async () => {
      const image = isTemplate ? state.image : await this.provision(state.image);
      return { ...state, image: await this.openUp(image, BASE) };
    });
    this.isForced = forced;
    return ready;
  }

  /** Puts what sandboxes need into an image from elsewhere. */
  private async provision(image: ImageRef): Promise<ImageRef> {
    const printed = await this.session.script(image, PROVISION_SCRIPT, [], BASE, "preparing the image");
    for (const line of printed.trim().split("\n").slice(-20)) {
      if (line !== "") this.log.add(`[base] [stdout]: ${line}`, BASE.step);
    }
    await this.session.script(image, USER_SCRIPT, [IMAGE_USER, "true"], BASE, "making the user");
    return this.session.commit(image);
  }

  private async fetch(name: string, get: (images: ImageSource, request: PullRequest) => Promise<PulledImage>): Promise<PulledImage> {
    const { images } = this.deps;
    const { access } = this.order;
    const { signal, pin } = this.session;
    if (!images) throw new BuildFailure(`fromImage: this server can't fetch '${name}': it has no access to registries`, BASE.step);
    const say = (line: string) => this.log.add(`[base] ${line}`, BASE.step);
    try {
      return await get(images, { signal, pin, say, ...(access ? { access } : {}) });
    } catch (error) {
      signal.throwIfAborted();
      if (isAppError(error)) throw new BuildFailure(`failed to fetch the image '${name}': ${error.message}`, BASE.step, error);
      throw error;
    }
  }

  private async step(step: TemplateStep, index: number, state: BuildState): Promise<BuildState> {
    const { teamId, request } = this.order;
    const part: Part = { step: String(index + 1), prefix: `builder ${index + 1}/${request.steps.length}` };
    if (step.force) this.isForced = true;
    const { session, deps } = this;
    const from = this.order.copiedFrom.get(index)?.spec.image;
    if (from) session.pin.add(from.layers);
    this.key = chainKey(this.key, step.type, step.args, from ? contentOf(from) : step.filesHash);
    const text = `${step.type} ${step.args.filter((arg) => arg !== "").join(" ")}`;
    return this.cached(text, part, state, () => runStep(state, { session, uploads: deps.uploads, teamId, part, step, from }));
  }

  private async finalize(state: BuildState, commands: Commands): Promise<TemplateSpec> {
    const { session, deps, log } = this;
    this.key = chainKey(this.key, "finalize", []);
    const open = await this.cached("Finalizing template", FINALIZE, state, async () => ({
      ...state,
      image: await this.openUp(state.image, FINALIZE),
    }));
    if (commands.startCmd || commands.readyCmd) {
      this.key = chainKey(this.key, "start", [commands.startCmd ?? "", commands.readyCmd ?? ""]);
      await this.cached("Trying the start command", FINALIZE, open, async () => {
        await tryStart(open, commands, session, log, deps.clock);
        return open;
      });
    }
    const facts = await deps.driver.images.importLayer(new Blob([factsTar(this.order.build)]).stream(), { signal: session.signal });
    const image: ImageRef = await withinLimit(deps.driver, [...open.image.layers, facts.digest], session.signal);
    await session.keep(image);
    return specOf({ ...open, image }, this.order.build, commands);
  }

  private async openUp(image: ImageRef, part: Part): Promise<ImageRef> {
    const printed = await this.session.script(image, OPEN_UP_SCRIPT, [], part, "preparing the image");
    return printed.includes("unchanged") ? image : this.session.commit(image);
  }

  /** What `make` came to at another time, if all of it is still here; else what it comes to now. */
  private async cached(text: string, part: Part, state: BuildState, make: () => Promise<BuildState>): Promise<BuildState> {
    const { signal } = this.session;
    const { store, clock } = this.deps;
    signal.throwIfAborted();
    const line = `[${part.prefix}] ${text} [${this.key.slice(0, 16)}]`;
    const found = this.isForced ? undefined : await this.lookUp();
    if (found) {
      this.log.add(`CACHED ${line}`, part.step);
      return found;
    }
    this.log.add(line, part.step);
    const made = await make();
    signal.throwIfAborted();
    await store.templates.putCached(this.key, JSON.stringify(made), clock.now());
    return made.image.digest === state.image.digest ? { ...made, image: state.image } : made;
  }

  private async lookUp(): Promise<BuildState | undefined> {
    const { store, clock, driver } = this.deps;
    const text = await store.templates.getCached(this.key, clock.now());
    if (text === undefined) return undefined;
    const found = JSON.parse(text) as BuildState;
    // Pinned first, then asked for: what is there now stays.
    this.session.pin.add(found.image.layers);
    const present = await Promise.all(found.image.layers.map((layer) => driver.images.hasLayer(layer)));
    return present.every(Boolean) ? found : undefined;
  }
}

/** Names what is in an image, whichever build made it: the uppermost layer of a built one holds that build's own facts. */
const contentOf = ({ layers }: ImageRef) => `image ${(layers.length > 1 ? layers.slice(0, -1) : layers).join(" ")}`;

const pick = ({ startCmd, readyCmd }: { startCmd?: string | undefined; readyCmd?: string | undefined }): Commands => ({
  ...(startCmd ? { startCmd } : {}),
  ...(readyCmd ? { readyCmd } : {}),
});

function stateOf({ image, env, user, workdir }: TemplateSpec): BuildState {
  return { image: imageOf(image.layers), env, user, workdir };
}
