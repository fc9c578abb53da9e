import { AppError } from "@boxyard/core";
import { readDone } from "./stamp.ts";
import type { Reporter, SetupConfig, Stage, StageReport } from "./types.ts";

/** A stage that has been begun: it was reported, and what it prepares is on its way. */
export interface Begun {
  readonly report: StageReport;
  readonly prepared?: Promise<void>;
}

/** Reason of the error of a stage that was ended because another one has failed. */
export const OTHER_FAILED = "other_stage_failed";

/** What stages prepare while the stages before them run. Disposing of it ends what nobody has taken, and waits for the end. */
export class Ahead implements AsyncDisposable {
  private readonly config: SetupConfig;
  private readonly reporter: Reporter;
  private readonly stop = new AbortController();
  private readonly begun = new Map<Stage, Begun>();
  private hasBegun = false;

  constructor(config: SetupConfig, reporter: Reporter) {
    this.config = config;
    this.reporter = reporter;
  }

  /** Begins the preparations of these stages; repeatable. A stage that was done before may only wait for another one, such as a mount, so it is left out. */
  begin(stages: readonly Stage[]): void {
    if (this.hasBegun) return;
    this.hasBegun = true;
    const done = readDone(this.config);
    for (const stage of stages) if (stage.prepare && done[stage.name] !== stage.key(this.config)) this.beginOne(stage);
  }

  private beginOne(stage: Stage): void {
    const report = this.reporter.begin(stage);
    const prepared = (async () => stage.prepare?.(this.config, report, this.stop.signal))();
    // The caller that takes the stage gets the error.
    prepared.catch(() => {});
    this.begun.set(stage, { report, prepared });
  }

  /** The stage, if it was begun; the caller reports its end. */
  take(stage: Stage): Begun | undefined {
    const begun = this.begun.get(stage);
    this.begun.delete(stage);
    return begun;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const ended = new AppError("aborted", "another stage of set-up has failed", { reason: OTHER_FAILED });
    this.stop.abort(ended);
    for (const [stage, { prepared }] of this.begun) {
      const error = await prepared?.then(
        () => ended,
        (failure: unknown) => failure,
      );
      this.reporter.end(stage, error);
    }
  }
}
