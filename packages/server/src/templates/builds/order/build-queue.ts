import type { TeamId } from "@boxyard/core";
import { type Actor, actAs, currentActor } from "../../../actor.ts";
import type { BuildRecord } from "../../../store/index.ts";
import { BuildFailure } from "../log/build-failure.ts";
import type { BuildLog } from "../log/build-log.ts";
import type { BuildOrder } from "./build-order.ts";

/** A build that waits or runs. */
export interface BuildJob {
  readonly order: BuildOrder;
  /** Who started it. */
  readonly actor: Actor;
  readonly log: BuildLog;
  readonly cancel: AbortController;
  /** Resolves when it has ended. */
  done: Promise<void>;
}

export interface BuildQueueOptions {
  /** Builds that run at once. */
  readonly maxBuilds: number;
  /** Runs one build to its end. */
  readonly work: (job: BuildJob) => Promise<void>;
  /** Called when `work` rejects, which means that the end of a build could not be written. */
  readonly onError: (error: unknown, job: BuildJob) => void;
}

/** Runs a bounded number of builds; others wait for a place, and the teams take turns. */
export class BuildQueue {
  private readonly options: BuildQueueOptions;
  private readonly waiting: BuildJob[] = [];
  private readonly working = new Set<BuildJob>();
  /** Number of the last start of each team that has builds. */
  private readonly lastStarts = new Map<TeamId, number>();
  private starts = 0;

  constructor(options: BuildQueueOptions) {
    this.options = options;
  }

  /** All builds that run or wait; those that run first. */
  jobs(): BuildJob[] {
    return [...this.working, ...this.waiting];
  }

  get counts(): { readonly running: number; readonly queued: number } {
    return { running: this.working.size, queued: this.waiting.length };
  }

  /** Number of a team's builds, without those that `build` would replace. */
  countOf(teamId: TeamId, build: BuildRecord): number {
    return this.jobs().filter((job) => job.order.teamId === teamId && !isReplaced(job.order.build, build)).length;
  }

  /** Adds a build of the current actor, and cancels the builds that it replaces. */
  add(order: BuildOrder, log: BuildLog): void {
    for (const job of this.jobs()) {
      if (isReplaced(job.order.build, order.build))
        job.cancel.abort(new BuildFailure("A newer build of the same template and tag was started"));
    }
    this.waiting.push({ order, actor: currentActor(), log, cancel: new AbortController(), done: Promise.resolve() });
    this.next();
  }

  /** Cancels builds, and resolves when they have ended. */
  async stop(jobs: readonly BuildJob[], reason: BuildFailure): Promise<void> {
    for (const job of jobs) job.cancel.abort(reason);
    this.next();
    await Promise.all(jobs.map((job) => job.done));
  }

  /** Starts builds while places are free. A cancelled build needs no place: it only writes its end. */
  private next(): void {
    const { maxBuilds, work, onError } = this.options;
    for (const job of this.inTurn()) {
      if (this.working.size >= maxBuilds && !job.cancel.signal.aborted) continue;
      this.waiting.splice(this.waiting.indexOf(job), 1);
      this.working.add(job);
      this.noteStart(job);
      job.done = actAs(job.actor, () => work(job))
        .catch((error: unknown) => onError(error, job))
        .finally(() => {
          this.working.delete(job);
          this.next();
        });
    }
  }

  /**
   * The builds that wait, in the order in which they get places: those of teams with fewer builds at work first, then those of the team that has waited
   * longest since its last start. So a team with many builds does not keep another waiting.
   */
  private inTurn(): BuildJob[] {
    const counts = new Map<TeamId, number>();
    const count = ({ order: { teamId } }: BuildJob) => {
      const before = counts.get(teamId) ?? 0;
      counts.set(teamId, before + 1);
      return before;
    };
    for (const job of this.working) count(job);
    return this.waiting
      .map((job) => ({ job, turn: count(job), last: this.lastStarts.get(job.order.teamId) ?? -1 }))
      .toSorted((a, b) => a.turn - b.turn || a.last - b.last)
      .map(({ job }) => job);
  }

  /** Remembers the start for the team's next turn, as long as the team has a build. */
  private noteStart({ order: { teamId } }: BuildJob): void {
    this.lastStarts.set(teamId, this.starts++);
    const present = new Set(this.jobs().map((job) => job.order.teamId));
    for (const team of this.lastStarts.keys()) if (!present.has(team)) this.lastStarts.delete(team);
  }
}

/** A newer build replaces builds of the same template with one of its tags. Builds under other tags go on. */
function isReplaced(build: BuildRecord, by: BuildRecord): boolean {
  return build.templateId === by.templateId && build.tags.some((tag) => by.tags.includes(tag));
}
