/** Environment entries of one lane: its platform's data directory. */
export type LaneEnv = Readonly<Record<string, string>>;

/** Where a job may run. */
export interface Place {
  /** No other job runs meanwhile: for what compares the whole machine before and after. */
  readonly alone: boolean;
  /** Only on the first lane: for what shares something with others that is costly to make on a platform. */
  readonly first: boolean;
  /** The lowest begins first, within its kind. */
  readonly rank: number;
}

/** What a job is given while it runs. */
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
  /** `closed` until so many jobs wait that its set-up is worth its time; `broken` when its set-up failed. */
  state: "closed" | "opening" | "broken" | "idle" | "busy";
}

/** So many jobs must wait for each lane that is open already before one more is set up. */
const WORTH_A_LANE = 6;

/**
 * The platforms that the suites of a run share: so many jobs run at a time, each on a platform of its own. First run those that must be alone, one
 * after another; then those of the first lane there, and all others on the lanes that are idle.
 */
export class Lanes {
  readonly #lanes: readonly Lane[];
  readonly #setUp: (env: LaneEnv) => Promise<void>;
  #waiting: Job[] = [];
  #aloneRuns = false;
  #scheduled = false;

  /** `envs`: one lane each; the first is set up already. `setUp` makes another one ready, and rejects when it cannot. */
  constructor(envs: readonly LaneEnv[], setUp: (env: LaneEnv) => Promise<void>) {
    this.#lanes = envs.map((env, index) => ({ env, state: index === 0 ? "idle" : "closed" }));
    this.#setUp = setUp;
  }

  /** Runs `work` on a lane, once one is idle. Rejects when `work` does, or when a lane cannot be set up. */
  run<T>(place: Place, work: (use: LaneUse) => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    const after = this.#waiting.findIndex((job) => job.place.rank > place.rank);
    this.#waiting.splice(after < 0 ? this.#waiting.length : after, 0, { place, work: (use) => work(use).then(resolve, reject), reject });
    this.#schedule();
    return promise;
  }

  /** Jobs that come in the same turn of the event loop are all there before the first of them begins. */
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
    this.#schedule(); // Perhaps one more.
  }
}
