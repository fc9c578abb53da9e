import { AppError, atPoint, isAppError, isUuid, later, Rounds, SerialQueues, type TeamId, type TemplateId } from "@boxyard/core";
import type { Logger } from "@boxyard/core/node";
import type { DriverCapabilities } from "@boxyard/driver";
import type { StartBuild } from "@boxyard/spec/platform";
import type { Collected } from "../../images/collect.ts";
import type { Pins } from "../../images/pins.ts";
import { withSecretValues } from "../../secrets/build-secrets.ts";
import type { TeamSecrets } from "../../secrets/team-secrets.ts";
import type { BuildLogLine, BuildRecord, LogLines, LogsAt, TemplateSpec } from "../../store/index.ts";
import { isTemplateReference } from "../reference.ts";
import type { Templates } from "../templates.ts";
import type { BuildLayers } from "./finish/build-layers.ts";
import type { KeepStartedDeps } from "./finish/keep-started.ts";
import { BuildFailure } from "./log/build-failure.ts";
import { BuildLog } from "./log/build-log.ts";
import { explain } from "./log/explain.ts";
import { type BuildJob, BuildQueue } from "./order/build-queue.ts";
import { toOrder } from "./order/read-order.ts";
import type { SnapshotHolder } from "./ports.ts";
import { runBuild } from "./run-build.ts";
import type { BuildSettings } from "./stage/build-settings.ts";
import { LEAST_MAX_LAYERS } from "./stage/open-sandbox.ts";
import type { StageDeps } from "./stage-run.ts";

export interface BuildsDeps extends Omit<StageDeps, "settings">, KeepStartedDeps {
  readonly settings: () => Promise<BuildSettings>;
  readonly snapshotKeeper: SnapshotHolder;
  readonly templates: Templates;
  readonly secrets: Pick<TeamSecrets, "value">;
  /** Layers that work in progress uses: they are not collected. */
  readonly pins: Pins;
  readonly layers: BuildLayers;
  readonly logger: Logger;
  /** Most processors of a sandbox. */
  readonly maxCpuCount: number;
  /** Builds that run at once; others wait in the queue. */
  readonly maxBuilds: number;
  /** Throws `resource_exhausted` when a team may not have so many builds queued or at work. */
  readonly checkBuilds: (teamId: TeamId, amount: number) => void;
}

/** Progress of a build. */
export interface BuildProgress {
  readonly build: BuildRecord;
  /** Oldest first. */
  readonly lines: readonly BuildLogLine[];
  /** The last lines of the step that failed. */
  readonly reasonLines: readonly BuildLogLine[];
}

const BUILD_LIMIT_MS = 3600_000;
/** A requested build that is not started within this time fails (docs/contract/templates.md, Create). */
const WAITING_LIMIT_MS = 40 * 60_000;
const TIDY_EVERY_MS = 60_000;
/** Layers are collected in every tenth round of `tidy`. */
const COLLECT_EVERY = 10;
/** Results of steps are removed, with their layers, when no build has used them for this time. */
const KEEP_CACHE_MS = 30 * 24 * 3600_000;
/** Logs of builds without a tag are removed this long after their end. */
const KEEP_LOGS_MS = 30 * 24 * 3600_000;
const REASON_LINES = 50;

/** Starts, queues, runs and cancels builds. Each build ends as `ready` or `error`, even if the server dies (`settle`). */
export class Builds {
  readonly kind = "build";
  private readonly deps: BuildsDeps;
  private readonly queue: BuildQueue;
  /** Start and cancel of one build run one after the other: during a start the build is neither in the store as `waiting` nor in the queue. */
  private readonly turns = new SerialQueues<string>();
  private readonly tidying: Rounds;
  private tidyRounds = 0;

  constructor(deps: BuildsDeps) {
    this.deps = deps;
    const { clock, logger, maxBuilds } = deps;
    this.queue = new BuildQueue({
      maxBuilds,
      work: (job) => this.work(job),
      onError: (error, { order }) => logger.error({ err: error, buildId: order.build.id }, "the end of a build could not be written"),
    });
    const onError = (error: unknown) => logger.error({ err: error }, "tidying up after builds failed");
    this.tidying = new Rounds(() => this.tidy(), { clock, everyMs: TIDY_EVERY_MS, isFirstAtOnce: true, onError });
  }

  /** Number of a team's builds that run or wait. */
  openOf(teamId: TeamId): number {
    return this.queue.jobs().filter(({ order }) => order.teamId === teamId).length;
  }

  /** Builds that run and that wait. */
  get counts(): BuildQueue["counts"] {
    return this.queue.counts;
  }

  /** Starts the rounds of `tidy`. To be called once. */
  async beginTidying(): Promise<void> {
    await this.deps.uploads.prune();
    this.tidying.start();
  }

  /** Ids of the builds that have not ended and are not in progress here: those of an earlier server, and those whose end could not be written. */
  async listUnfinished(): Promise<string[]> {
    const building = await this.deps.store.templates.listBuildsIn(["building"]);
    return building.flatMap(({ id }) => (this.isHere(id) ? [] : [id]));
  }

  /** Finishes or fails a build that `listUnfinished` has found. Repeatable. */
  async settle(buildId: string): Promise<void> {
    await this.turns.run(buildId, async () => {
      const build = await this.deps.store.templates.getBuild(buildId);
      // Its start may have come between.
      if (build?.status !== "building" || this.isHere(buildId)) return;
      // The spec is written when the build is done: only its tags and status may be missing.
      if (build.spec) await this.succeed(build, build.spec);
      else await this.fail(build, "The server ended while it was building; start the build again, its finished steps are cached");
    });
  }

  private isHere(buildId: string): boolean {
    return this.queue.jobs().some((job) => job.order.build.id === buildId);
  }

  /** A build of a template that the team owns. Throws `not_found`; `invalid_argument` for an id that no build can have. */
  private async find(teamId: TeamId, templateText: string, buildId: string): Promise<BuildRecord> {
    const { templates, store } = this.deps;
    const missing = () => new AppError("not_found", `Build '${buildId.slice(0, 100)}' not found`, { reason: "build_not_found" });
    if (!isUuid(buildId)) {
      throw new AppError("invalid_argument", `Invalid build ID: '${buildId.slice(0, 100)}' is no UUID`, { reason: "bad_build_id" });
    }
    // No template has a name that is not valid.
    if (!isTemplateReference(templateText)) throw missing();
    const { record } = templates.findOwn(teamId, templateText);
    const build = await store.templates.getBuild(buildId);
    if (!build || build.templateId !== record.id) throw missing();
    return build;
  }

  /** Queues a build. Throws `invalid_argument`, `failed_precondition` (it was started before), `resource_exhausted`. */
  async start(teamId: TeamId, templateText: string, buildId: string, request: StartBuild): Promise<void> {
    const { store, clock, driver, checkBuilds } = this.deps;
    mayBuild(driver.capabilities);
    const build = await this.find(teamId, templateText, buildId).catch((error: unknown) => {
      // The published API answers 400 here, and clients depend on that (docs/contract/templates.md).
      if (isAppError(error, "build_not_found")) throw new AppError("invalid_argument", error.message, { reason: error.reason });
      throw error;
    });
    if (build.status !== "waiting") throw new AppError("failed_precondition", "build is not in waiting state", { reason: "build_started" });
    const order = toOrder(build, teamId, await withSecretValues(this.deps.secrets, teamId, request), this.deps);
    checkBuilds(teamId, this.queue.countOf(teamId, build) + 1);
    await this.turns.run(buildId, async () => {
      const now = clock.now();
      if (!(await store.templates.updateBuild(buildId, ["waiting"], { status: "building", startedAt: now, updatedAt: now }))) {
        throw new AppError("failed_precondition", "build is not in waiting state", { reason: "build_started" });
      }
      this.queue.add(order, new BuildLog(buildId, store.templates, clock));
    });
  }

  /** Ends a build that has not ended. Throws `failed_precondition` when it has. */
  async cancel(teamId: TeamId, templateText: string, buildId: string): Promise<void> {
    const build = await this.find(teamId, templateText, buildId);
    const hasEnded = (status: BuildRecord["status"]) =>
      new AppError("failed_precondition", `The build has ended already: ${status}`, { reason: "build_ended" });
    if (build.status === "ready" || build.status === "error") throw hasEnded(build.status);
    const reason = new BuildFailure("The build was cancelled");
    await this.turns.run(buildId, async () => {
      if (await this.fail(build, reason.message, undefined, ["waiting"])) return;
      const jobs = this.queue.jobs().filter((job) => job.order.build.id === buildId);
      await this.queue.stop(jobs, reason);
      // The build may have ended just before.
      const after = await this.deps.store.templates.getBuild(buildId);
      if (after?.status === "ready") throw hasEnded(after.status);
    });
  }

  /** Cancels every build of a template, and resolves when they have ended. */
  async endAll(templateId: TemplateId): Promise<void> {
    const jobs = this.queue.jobs().filter((job) => job.order.build.templateId === templateId);
    await this.queue.stop(jobs, new BuildFailure("The template was deleted"));
  }

  /** A build with the lines of its log that `options` describe. Throws `not_found`. */
  async progress(teamId: TeamId, templateText: string, buildId: string, options: LogLines): Promise<BuildProgress> {
    // The status is read before the log: the log of a build that has ended is complete.
    const build = await this.find(teamId, templateText, buildId);
    const lines = await this.deps.store.templates.readLogs(build.id, options);
    return { build, lines, reasonLines: build.reason ? await this.reasonLines(build) : [] };
  }

  /** A page of a build's log by time. Throws `not_found`. */
  async logs(teamId: TeamId, templateText: string, buildId: string, options: LogsAt): Promise<BuildLogLine[]> {
    const { id } = await this.find(teamId, templateText, buildId);
    return this.deps.store.templates.readLogsAt(id, options);
  }

  private async reasonLines({ id, reason }: BuildRecord): Promise<BuildLogLine[]> {
    const options = { direction: "backward", limit: 2 * REASON_LINES, minLevel: "info" } as const;
    const lines = await this.deps.store.templates.readLogsAt(id, options);
    return lines
      .filter(({ step }) => step === reason?.step)
      .slice(0, REASON_LINES)
      .reverse();
  }

  /** Removes layers that no template, cached step or sandbox needs; work in progress has pinned its own. */
  async collect(): Promise<Collected> {
    return this.deps.layers.collect(this.tidying.signal);
  }

  /** Ends the builds in progress: they fail, and their logs say why. */
  async close(): Promise<void> {
    const tidied = this.tidying.stop();
    await this.queue.stop(
      this.queue.jobs(),
      new BuildFailure("The server is shutting down; start the build again, its finished steps are cached"),
    );
    await tidied;
  }

  private async work({ order, log, cancel }: BuildJob): Promise<void> {
    const { build } = order;
    const { clock, logger } = this.deps;
    const startedAt = clock.monotonic();
    const limit = new AbortController();
    const tooLong = () => limit.abort(new BuildFailure(`The build took longer than ${BUILD_LIMIT_MS / 60_000} minutes`));
    const cancelLimit = later(BUILD_LIMIT_MS, tooLong, clock);
    const signal = AbortSignal.any([cancel.signal, limit.signal]);
    // Held until the result is written, so that no layer is collected before.
    using pin = this.deps.pins.hold([]);
    using started = this.deps.snapshotKeeper.hold();
    try {
      signal.throwIfAborted();
      const deps = { ...this.deps, settings: await this.deps.settings() };
      const spec = await runBuild(order, deps, log, { signal, pin, started: started.id });
      log.add(`Build finished, took ${Math.round((clock.monotonic() - startedAt) / 1000)}s`);
      await log.flush();
      await this.succeed(build, spec);
      logger.info({ buildId: build.id, templateId: build.templateId, ms: Math.round(clock.monotonic() - startedAt) }, "template built");
    } catch (error) {
      const cause = signal.aborted ? signal.reason : error;
      const { message, step } = explain(cause);
      log.add(`Build failed: ${message}`, step, "error");
      await log.flush().catch(() => {});
      await this.fail(build, message, step);
      logger.info(
        { buildId: build.id, templateId: build.templateId, step, err: cause instanceof BuildFailure ? undefined : cause },
        "template not built",
      );
    } finally {
      cancelLimit();
    }
  }

  private async succeed(build: BuildRecord, spec: TemplateSpec): Promise<void> {
    const { store, clock, templates, observer } = this.deps;
    const now = clock.now();
    const change = (to: Parameters<typeof store.templates.updateBuild>[2]) =>
      store.templates.updateBuild(build.id, ["building"], { ...to, updatedAt: now });
    // In this order: if the server dies in between, `recover` does the rest.
    if (!(await atPoint(observer, "build spec", () => change({ spec })))) return;
    await atPoint(observer, "build tags", () => store.templates.assignTags(build.templateId, build.tags, build.id, now));
    await templates.refresh(build.templateId);
    await atPoint(observer, "build ready", () => change({ status: "ready", finishedAt: now }));
  }

  private async fail(
    build: BuildRecord,
    message: string,
    step?: string,
    from: readonly BuildRecord["status"][] = ["building"],
  ): Promise<boolean> {
    const { store, clock } = this.deps;
    const now = clock.now();
    const reason = { message, ...(step === undefined ? {} : { step }) };
    return store.templates.updateBuild(build.id, from, { status: "error", reason, updatedAt: now, finishedAt: now });
  }

  private async tidy(): Promise<void> {
    const { store, clock, uploads, driver, images } = this.deps;
    for (const build of await store.templates.listBuildsIn(["waiting"])) {
      if (clock.now() - build.createdAt > WAITING_LIMIT_MS)
        await this.fail(build, "The build was not started in time", undefined, ["waiting"]);
    }
    await store.templates.pruneCached(clock.now() - KEEP_CACHE_MS);
    await store.templates.pruneLogs(clock.now() - KEEP_LOGS_MS);
    await uploads.prune();
    images?.removeOld();
    if (++this.tidyRounds % COLLECT_EVERY === 0 && driver.capabilities.images) await this.collect();
  }
}

/** Throws `unimplemented` if the driver does not have the capabilities that every build needs. */
function mayBuild({ images, freeze, maxLayers }: DriverCapabilities): void {
  const missing =
    images && freeze
      ? maxLayers < LEAST_MAX_LAYERS && "its driver's sandboxes stand on one layer at most"
      : "its driver makes no layers of sandboxes";
  if (missing)
    throw new AppError("unimplemented", `Templates cannot be built on this server: ${missing}`, { reason: "builds_unimplemented" });
}
