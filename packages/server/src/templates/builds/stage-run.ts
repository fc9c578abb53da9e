import { atPoint, type Clock, type StepObserver, type TemplateId } from "@boxyard/core";
import type { ImageRef } from "@boxyard/driver";
import type { TemplateStep } from "@boxyard/spec/platform";
import { imageOf } from "../../images/image-of.ts";
import type { Store } from "../../store/index.ts";
import { wholeImage } from "../snapshots/whole-image.ts";
import { type Origin, type OriginContext, originOf } from "./base/origin.ts";
import type { Inherited } from "./finish/finalize.ts";
import type { BuildLog } from "./log/build-log.ts";
import type { StageOrder } from "./order/build-order.ts";
import { BUILD_DIRECTORY, IMAGE_USER } from "./stage/build-settings.ts";
import type { Part, Session } from "./stage/session.ts";
import { type BuildState, chainKey, firstKey } from "./stage/state.ts";
import { COLLECT_SCRIPT, EMPTY_ENVIRONMENT } from "./steps/empty-image.ts";
import type { RunCaches } from "./steps/run-caches.ts";
import { OPEN_UP_SCRIPT, OPENED_UP, PROVISION_SCRIPT, USER_SCRIPT } from "./steps/scripts.ts";
import { secretsKey } from "./steps/secrets.ts";
import { runStep } from "./steps/steps.ts";

/** Directory in a sandbox of `base` in which the tree of a stage `FROM scratch` is made, and the tar in which the server fetches the tree. */
const EMPTY_ROOT = "/.boxyard-scratch";
const COLLECTED = `${BUILD_DIRECTORY}/collected.tar`;

export type StageDeps = OriginContext["deps"] & {
  readonly store: Store;
  readonly clock: Clock;
  readonly caches: RunCaches;
  readonly observer?: StepObserver;
};

export interface StageContext extends OriginContext {
  readonly deps: StageDeps;
  /** Results of the earlier stages, by their names. */
  readonly stages: ReadonlyMap<string, ImageRef>;
  readonly templateId: TemplateId;
  /** True: no result is read from the cache. */
  readonly force: boolean;
  readonly secrets: Readonly<Record<string, string>>;
}

/** Runs one stage: its base, then its steps. Each result is cached under a key that depends on everything before it. */
export class StageRun {
  private readonly stage: StageOrder;
  private readonly context: StageContext;
  private readonly session: Session;
  private readonly log: BuildLog;
  /** Start and ready command of the base; set by `run`. */
  inherited: Inherited | undefined;
  private key = "";
  /** Layers of the prepared base. */
  private prepared: readonly string[] | undefined;
  /** True from a forced step on: no result is read from the cache. */
  private isForced: boolean;

  constructor(stage: StageOrder, context: StageContext) {
    this.stage = stage;
    this.context = context;
    this.session = context.session;
    this.log = context.log;
    this.isForced = context.force;
  }

  async run(): Promise<BuildState> {
    const { name, steps } = this.stage;
    const part = this.part("base", name === undefined ? "base" : `${name} base`);
    const origin = await originOf(this.stage, part, this.context);
    this.inherited = origin.inherited;
    // A stage without steps needs no preparation: others only copy from it.
    if (name !== undefined && steps.length === 0 && !this.isEmpty) return origin.state;
    let state = await this.base(origin, part);
    if (this.isEmpty) state = { image: state.image, env: EMPTY_ENVIRONMENT, user: "root", workdir: "/" };
    for (const [i, step] of steps.entries()) state = await this.step(step, i, state);
    return this.isEmpty ? this.collected(state, part) : state;
  }

  /** True for a stage `FROM scratch`: the result holds only the files that were copied into it, and no shell. */
  get isEmpty(): boolean {
    return this.stage.isEmpty === true;
  }

  /** Makes an image of the tree of a stage `FROM scratch`, which was made in a directory of another image. */
  private collected(state: BuildState, part: Part): Promise<BuildState> {
    return this.cached("collect", [], "Collecting the image's files", part, state, async () => {
      const { session, context } = this;
      await session.script(state.image, COLLECT_SCRIPT, [EMPTY_ROOT, COLLECTED], part, "collecting the image's files");
      const tar = await session.getFile(state.image, COLLECTED);
      const { digest } = await context.deps.driver.images.importLayer(tar, { signal: session.signal });
      const image = imageOf([digest]);
      await session.keep(image);
      return { ...state, image };
    });
  }

  /** The cached result of `make`, if all its layers are present; else calls `make` and caches the result. The key is made of `kind` and `args`. */
  cached(
    kind: string,
    args: readonly string[],
    text: string,
    part: Part,
    state: BuildState,
    make: () => Promise<BuildState>,
  ): Promise<BuildState> {
    this.key = chainKey(this.key, kind, args);
    return this.remembered(kind, text, part, state, make);
  }

  /** Makes the image usable for its user (`OPEN_UP_SCRIPT`), after the steps too. No sandbox is needed when they have changed nothing of that. */
  async openUp(image: ImageRef, part: Part): Promise<ImageRef> {
    const paths = await this.changedPaths(image);
    if (paths.length === 0) return image;
    const printed = await this.session.script(image, OPEN_UP_SCRIPT, paths, part, "preparing the image");
    return printed.includes("unchanged") ? image : this.session.commit(image);
  }

  /** Those of `OPENED_UP` that may have changed since the base was prepared: all of them before, and after its layers were merged. */
  private async changedPaths({ layers }: ImageRef): Promise<readonly string[]> {
    const { prepared } = this;
    if (prepared === undefined || prepared.some((layer, i) => layers[i] !== layer)) return OPENED_UP;
    const { images } = this.context.deps.driver;
    const changed = await Promise.all(layers.slice(prepared.length).map((layer) => images.changedPaths(layer, OPENED_UP)));
    return OPENED_UP.filter((path) => changed.some((paths) => paths.includes(path)));
  }

  /** A part of the stage for the log; its step begins with the stage's name, if any. */
  private part(step: string, prefix: string): Part {
    const { name } = this.stage;
    return { step: name === undefined ? step : `${name}:${step}`, prefix };
  }

  /** Prepares the base for the steps. This result is read from the cache even if the build is forced, because it includes no step. */
  private async base({ name, state, isTemplate }: Origin, part: Part): Promise<BuildState> {
    this.key = firstKey(isTemplate ? "template" : "image", state);
    const forced = this.isForced;
    this.isForced = false;
    const ready = await this.remembered("base", `FROM ${name}`, part, state, async () => {
      const image = isTemplate ? state.image : await this.provision(state.image, part);
      return { ...state, image: await this.openUp(image, part) };
    });
    this.isForced = forced;
    // Results of steps are a team's own: else one team could learn what others build, and have their files by the hash of an upload.
    this.key = chainKey(this.key, "team", [this.context.teamId]);
    this.prepared = ready.image.layers;
    return ready;
  }

  /** Installs what sandboxes need into an image that is not a template. */
  private async provision(image: ImageRef, part: Part): Promise<ImageRef> {
    const printed = await this.session.script(image, PROVISION_SCRIPT, [], part, "preparing the image");
    for (const line of printed.trim().split("\n").slice(-20)) {
      if (line !== "") this.log.add(`[${part.prefix}] [stdout]: ${line}`, part.step);
    }
    await this.session.script(image, USER_SCRIPT, [IMAGE_USER, "true"], part, "making the user");
    return this.session.commit(image);
  }

  private async step(step: TemplateStep, index: number, state: BuildState): Promise<BuildState> {
    const { session, context } = this;
    const part = this.part(String(index + 1), `${this.stage.name ?? "builder"} ${index + 1}/${this.stage.steps.length}`);
    if (step.force) this.isForced = true;
    const from = await this.copiedFrom(step, index);
    const mounted = (step.mounts ?? []).map(({ fromStage }) => (fromStage === undefined ? undefined : this.context.stages.get(fromStage)));
    for (const image of [from?.image, ...mounted]) if (image) session.pin.add(image.layers);
    this.key = chainKey(this.key, step.type, keyArgs(step, mounted), from ? from.content : step.filesHash);
    const text = step.text ?? `${step.type} ${step.args.filter((arg) => arg !== "").join(" ")}`;
    const { teamId, templateId, deps, secrets } = context;
    const { uploads, caches } = deps;
    const root = this.isEmpty ? EMPTY_ROOT : "";
    return this.remembered(step.type, text, part, state, () =>
      runStep(state, { session, uploads, caches, teamId, templateId, part, step, root, from: from?.image, mounted, secrets }),
    );
  }

  /** The image that a COPY copies from, and its content for the key: of a template without the last layer, which has the ids of its build. */
  private async copiedFrom(step: TemplateStep, index: number): Promise<{ image: ImageRef; content: string } | undefined> {
    const stage = step.fromStage === undefined ? undefined : this.context.stages.get(step.fromStage);
    if (stage) return { image: stage, content: `image ${stage.layers.join(" ")}` };
    const spec = this.stage.copiedFrom.get(index)?.spec;
    if (!spec) return undefined;
    const image = await wholeImage(this.context.deps.driver, spec, this.session);
    const layers = image.layers.length > 1 && !spec.snapshot ? image.layers.slice(0, -1) : image.layers;
    return { image, content: `image ${layers.join(" ")}` };
  }

  private remembered(kind: string, text: string, part: Part, state: BuildState, make: () => Promise<BuildState>): Promise<BuildState> {
    return atPoint(this.context.deps.observer, `build ${kind}`, () => this.foundOrMade(text, part, state, make));
  }

  private async foundOrMade(text: string, part: Part, state: BuildState, make: () => Promise<BuildState>): Promise<BuildState> {
    const { signal } = this.session;
    const { store, clock } = this.context.deps;
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
    const { store, clock, driver } = this.context.deps;
    const text = await store.templates.getCached(this.key, clock.now());
    if (text === undefined) return undefined;
    const found = JSON.parse(text) as BuildState;
    // Pinned before the check, so that a layer that is present now stays.
    this.session.pin.add(found.image.layers);
    const present = await Promise.all(found.image.layers.map((layer) => driver.images.hasLayer(layer)));
    return present.every(Boolean) ? found : undefined;
  }
}

/** What a step's result depends on, besides the files. */
function keyArgs(step: TemplateStep, mounted: readonly (ImageRef | undefined)[]): readonly string[] {
  const { args, sources, env } = step;
  const mounts = step.mounts?.map((mount, i) => [mount, mounted[i]?.layers.join(" ") ?? ""]);
  const more = {
    ...secretsKey(step),
    ...(mounts ? { mounts } : {}),
    ...(sources ? { sources } : {}),
    ...(env ? { env: Object.entries(env).sort() } : {}),
  };
  return Object.keys(more).length > 0 ? [...args, JSON.stringify(more)] : args;
}
