import { expect, test } from "bun:test";
import { type LaneEnv, Lanes, type LaneUse, type Place } from "./lanes.ts";
import { passedOne } from "./suite.ts";

const ENVS = [{ LANE: "1" }, { LANE: "2" }, { LANE: "3" }];
const somewhere: Place = { alone: false, first: false, rank: 0 };

/** Lanes whose jobs end when the test says so, and a log of events. */
function observed(envs: readonly LaneEnv[] = ENVS, setUp: (env: LaneEnv) => Promise<void> = async () => {}) {
  const log: string[] = [];
  const ends = new Map<string, () => void>();
  const lanes = new Lanes(envs, async (env) => {
    log.push(`set up ${env.LANE}`);
    await setUp(env);
  });
  const run = (name: string, place: Partial<Place> = {}) =>
    lanes.run({ ...somewhere, ...place }, ({ env, isOnly }: LaneUse) => {
      log.push(`${name} on ${env.LANE}${isOnly ? ", no other" : ""}`);
      return new Promise((resolve) => ends.set(name, () => resolve(passedOne())));
    });
  /** Ends jobs, waits until nothing more is due, and returns the new entries of the log. */
  const after = async (...names: string[]) => {
    for (const name of names) ends.get(name)?.();
    await settled();
    return log.splice(0);
  };
  return { run, after };
}

/** Waits until everything that is due has run: promises, and the turns of the event loop that they request. */
async function settled(): Promise<void> {
  for (let turn = 0; turn < 10; turn++) await new Promise(setImmediate);
}

const many = (run: (name: string) => unknown, count: number) => {
  for (let job = 1; job <= count; job++) void run(`job ${job}`);
};

test("few jobs run one after another on the first lane", async () => {
  const { run, after } = observed();
  many(run, 6);
  expect(await after()).toEqual(["job 1 on 1"]);
  expect(await after("job 1")).toEqual(["job 2 on 1"]);
});

test("many jobs use more lanes; a lane is set up when enough jobs wait", async () => {
  const { run, after } = observed();
  many(run, 8);
  expect(await after()).toEqual(["job 1 on 1", "set up 2", "job 2 on 2"]);
  const { run: runMore, after: afterMore } = observed();
  many(runMore, 20);
  expect(await afterMore()).toEqual(["job 1 on 1", "set up 2", "job 2 on 2", "set up 3", "job 3 on 3"]);
});

test("jobs that must be alone run first, and no other job runs at the same time", async () => {
  const { run, after } = observed();
  many(run, 8);
  run("alone a", { alone: true });
  run("alone b", { alone: true });
  expect(await after()).toEqual(["alone a on 1, no other"]);
  expect(await after("alone a")).toEqual(["alone b on 1, no other"]);
  expect(await after("alone b")).toEqual(["job 1 on 1", "set up 2", "job 2 on 2"]);
});

test("a later job that must be alone waits until no other job runs", async () => {
  const { run, after } = observed();
  many(run, 8);
  expect(await after()).toContain("job 2 on 2");
  run("alone", { alone: true });
  expect(await after("job 1")).toEqual([]);
  expect(await after("job 2")).toEqual(["alone on 1, no other"]);
  expect(await after("alone")).toEqual(["job 3 on 1", "job 4 on 2"]);
});

test("jobs of the first lane run only there, before the others; the job with the lowest rank runs first", async () => {
  const { run, after } = observed(ENVS.slice(0, 2));
  many((name) => run(name, { rank: 2 }), 8);
  run("first a", { first: true, rank: 3 });
  run("first b", { first: true, rank: 3 });
  run("long", { rank: 1 });
  expect(await after()).toEqual(["first a on 1", "set up 2", "long on 2"]);
  expect(await after("long")).toEqual(["job 1 on 2"]);
  expect(await after("first a")).toEqual(["first b on 1"]);
});

test("with one lane no other job can run", async () => {
  const { run, after } = observed(ENVS.slice(0, 1));
  many(run, 20);
  expect(await after()).toEqual(["job 1 on 1, no other"]);
});

test("a job that fails does not affect other jobs; if a lane cannot be set up, all waiting jobs fail", async () => {
  const lanes = new Lanes([{}], async () => {});
  const failing = lanes.run(somewhere, async () => {
    throw new Error("the job broke");
  });
  const passing = lanes.run(somewhere, async () => passedOne());
  expect(await Promise.allSettled([failing, passing])).toMatchObject([{ reason: new Error("the job broke") }, { value: { passed: 1 } }]);

  const broken = new Lanes([{}, {}], async () => {
    throw new Error("no disk");
  });
  const jobs = Array.from({ length: 8 }, () => broken.run(somewhere, async () => passedOne()));
  const ended = await Promise.allSettled(jobs);
  expect(ended[0]).toMatchObject({ value: { passed: 1 } });
  expect(ended.at(-1)).toMatchObject({ reason: new Error("no disk") });
});
