/** Environment entries of one lane: its platform's data directory. */
export type LaneEnv = Readonly<Record<string, string>>;

/** Where a job may run. */
export interface Place {
  /** True: no other job runs at the same time. For tests that compare the whole machine before and after. */
  readonly alone: boolean;
  /** True: only on the first lane. For tests that share something which takes long to make on a platform. */
  readonly first: boolean;
  /** Of the jobs with the same `alone` and `first`, the one with the lowest rank begins first. */
  readonly rank: number;
}

/** What a job gets while it runs. */
export interface LaneUse {
  readonly env: LaneEnv;
  /** No other job can be running. */
  readonly isOnly: boolean;
}

interface Job {
  readonly place: Place;
  /** Never rejects: the caller of `run` gets the result or the error. */
  readonly work: (use: LaneUse) => Promise<void>;
  readonly reject: (error: unknown) => void;
}

interface Lane {
  readonly env: LaneEnv;
  /** `closed` until enough jobs wait to justify the time of its set-up; `broken` when its set-up failed. */
  state: "closed" | "opening" | "broken" | "idle" | "busy";
}

/** One more lane is set up when this many jobs wait for each open lane. */
const WORTH_A_LANE = 6;

/**
 * The platforms that the suites of a run share. Each lane is one platform and runs one job at a time. Jobs that must be alone run first, one after
 * another. Then the first lane runs the jobs that only it may run, and idle lanes run the others.
 */
export class Lanes {
  readonly #lanes: readonly Lane[];
  readonly #setUp: (env: LaneEnv) => Promise<void>;
  #waiting: Job[] = [];
  #aloneRuns = false;
  #scheduled = false;

  /** Each entry of `envs` is one lane; the first is set up already. `setUp` sets up another lane, and rejects if this fails. */
  constructor(envs: readonly LaneEnv[], setUp: (env: LaneEnv) => Promise<void>) {
    this.#lanes = envs.map((env, index) => ({ env, state: index === 0 ? "idle" : "closed" }));
    this.#setUp = setUp;
  }

  /** Runs `work` on a lane as soon as one is idle. Rejects if `work` rejects, or if a lane cannot be set up. */
  run<T>(place: Place, work: (use: LaneUse) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const after = this.#waiting.findIndex((job) => job.place.rank > place.rank);
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { place, work: (use) => work(use).then(resolve, reject), reject });
    this.#schedule();
    return promise;
  }

  /** Begins jobs in the next turn of the event loop, so that all jobs of this turn are in the queue before the first one begins. */
  #schedule(): void {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(() => {
      this.#scheduled = false;
      this.#assign();
    });
  }

  #assign(): void {
    if (this.#aloneRuns) return;
    if (this.#waiting.some(({ place }) => place.alone)) this.#assignAlone();
    else this.#assignAll();
  }

  #assignAll(): void {
    for (const [index, lane] of this.#lanes.entries()) {
      const job = lane.state === "idle" ? this.#nextFor(index) : undefined;
      if (job) this.#start(lane, job);
    }
    this.#openMore();
  }

  #assignAlone(): void {
    const [first] = this.#lanes;
    if (!first || this.#lanes.some(({ state }) => state === "busy" || state === "opening")) return;
    const job = this.#take(({ place }) => place.alone);
    if (!job) return;
    this.#aloneRuns = true;
    this.#start(first, job);
  }

  #nextFor(index: number): Job | undefined {
    return (index === 0 ? this.#take(({ place }) => place.first) : undefined) ?? this.#take(({ place }) => !place.first);
  }

  #take(fits: (job: Job) => boolean): Job | undefined {
    const at = this.#waiting.findIndex(fits);
    return at < 0 ? undefined : this.#waiting.splice(at, 1)[0];
  }

  #start(lane: Lane, { place, work }: Job): void {
    lane.state = "busy";
    const isOnly = place.alone || this.#lanes.length === 1;
    void work({ env: lane.env, isOnly }).then(() => {
      lane.state = "idle";
      if (place.alone) this.#aloneRuns = false;
      this.#schedule();
    });
  }

  #openMore(): void {
    const open = this.#lanes.filter(({ state }) => state !== "closed").length;
    const next = this.#lanes[open];
    if (!next || this.#waiting.length < WORTH_A_LANE * open) return;
    next.state = "opening";
    this.#setUp(next.env).then(
      () => {
        next.state = "idle";
        this.#schedule();
      },
      (error: unknown) => {
        next.state = "broken";
        for (const job of this.#waiting.splice(0)) job.reject(error);
      },
    );
    this.#schedule(); // Another lane may be needed.
  }
}
