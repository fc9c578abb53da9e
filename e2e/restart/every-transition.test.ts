import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { type ApiReply, eventually } from "@boxyard/testkit";
import { KEEP_IN_MEMORY, TRANSITION_POINTS, WAKE_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

/*
 * The real server, with the real driver, is killed as by `kill -9` before each step of every transition that keeps a sandbox, and each step fails
 * once: afterwards the sandbox and its processes still exist, and can be used and killed. Creates and kills are in every-step.test.ts, those that
 * can be asked for again in repeated-create.test.ts, those of the pool in warm-pool.test.ts, commits of builds in e2e/templates/crash.test.ts. A boot anew ends the processes on purpose; transitions.test.ts kills and fails its points with the fake driver.
 */

const platform = usePlatform({ faults: true });

type TransitionPoint = (typeof TRANSITION_POINTS)[keyof typeof TRANSITION_POINTS][number];
type Kept = Exclude<keyof typeof TRANSITION_POINTS, "create" | "createOnce" | "kill" | "reboot" | "commitLayer" | "warm" | "claim">;
type Ask = (path: string, body?: object) => Promise<ApiReply>;

interface Way {
  readonly first?: (ask: Ask) => Promise<ApiReply>;
  readonly ask: (ask: Ask) => Promise<ApiReply>;
  /** The statuses of the request before it, of it, and of it when a step fails. */
  readonly statuses: readonly [first: number | undefined, done: number, failed: number];
  /** If the server dies after this point, the sandbox is paused. */
  readonly pausedBehind?: string;
}

/** The request for each transition, and the request before it. The code does not compile if a transition has no entry. */
const WAYS: Readonly<Record<Kept, Way>> = {
  // When the image of a pause is complete, the sandbox is paused, even if the server died before it wrote that to the store.
  pause: { ask: (ask) => ask("pause"), statuses: [undefined, 204, 503], pausedBehind: "pause keep" },
  resume: { first: pauseToDisk, ask: (ask) => ask("resume"), statuses: [204, 201, 503], pausedBehind: "resume intent" },
  rollback: { first: captured, ask: (ask) => ask("rollback", { snapshotID }), statuses: [201, 200, 503], pausedBehind: "rollback keep" },
  snapshot: { ask: (ask) => ask("snapshots"), statuses: [undefined, 201, 503] },
  // A copy that was created before the server died stays, as after a create whose answer is lost.
  fork: { ask: (ask) => ask("fork"), statuses: [undefined, 201, 503] },
  setEnd: { ask: (ask) => ask("timeout", { timeout: 600 }), statuses: [undefined, 204, 500] },
  resize: {
    ask: () => platform().api({ method: "PATCH", path: `/sandboxes/${sandbox.id}/resources`, body: { memoryMB: 900, diskSizeMB: 11_000 } }),
    statuses: [undefined, 200, 500],
  },
  setEgress: {
    ask: () => platform().api({ method: "PUT", path: `/sandboxes/${sandbox.id}/network`, body: { allow_internet_access: false } }),
    statuses: [undefined, 204, 500],
  },
};

const allSandboxes = async () => (await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[];

/** So that the next resume reads the image. */
function pauseToDisk(ask: Ask): Promise<ApiReply> {
  platform().inject({ ...KEEP_IN_MEMORY, when: "before", act: "internal" });
  return ask("pause");
}

let snapshotID: string;
async function captured(ask: Ask): Promise<ApiReply> {
  const reply = await ask("snapshots");
  ({ snapshotID } = reply.body as { snapshotID: string });
  return reply;
}

/** One process that counts: its memory must survive. Perl starts in 2 ms of CPU, Python in 40 ms, and has fewer pages for CRIU to write and read. */
const COUNT = `
for (my $i = 1; ; $i++) {
  open(my $file, ">", "/tmp/count.new"); print $file "$$ $i"; close($file);
  rename("/tmp/count.new", "/tmp/count");
  select(undef, undef, undef, 0.02);
}
`;

let sandbox: HeldSandbox;
let before: [pid: number, count: number];
const ask: Ask = (verb, body = {}) => platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/${verb}`, body });
/** By a command, so that the sandbox can start one. */
const counted = async () => numbersIn((await sandbox.asRoot("cat /tmp/count")).stdout);
/** Without a process: waits look often. */
const countNow = async () => numbersIn(await sandbox.client.files.read("/tmp/count"))[1];
const numbersIn = (text: string) => text.split(" ").map(Number) as [pid: number, count: number];

beforeEach(async () => {
  sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
  const command = await sandbox.client.commands.run(`exec perl -e '${COUNT}'`, { background: true, timeoutMs: 0 });
  await command.disconnect();
  await eventually("it counts", async () => (await countNow()) > 2);
  before = await counted();
});
afterEach(async () => {
  for (const { sandboxID } of await allSandboxes()) await platform().api({ method: "DELETE", path: `/sandboxes/${sandboxID}` });
  await eventually("nothing is kept", () => keptSandboxes(platform()).length === 0);
});

const stateNow = async () => ((await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { state?: string }).state;

/** The sandbox is in this state, comes to run, and the very process that counted goes on from where it was. */
async function goesOn(state: "running" | "paused"): Promise<void> {
  expect(await stateNow()).toBe(state);
  const { status } = await platform().api({ method: "POST", path: `/v2/sandboxes/${sandbox.id}/connect`, body: { timeout: 600 } });
  expect(status).toBe(state === "running" ? 200 : 201);
  const [pid, count] = await counted();
  expect(pid).toBe(before[0]);
  expect(count).toBeGreaterThanOrEqual(before[1]);
  await eventually("it goes on counting", async () => (await countNow()) > count);
}

/** True if the server has passed this point of its own, with the driver's steps in it, when it reaches `point`. */
function isBehind(name: Kept, point: TransitionPoint, behind: string | undefined): boolean {
  const points = TRANSITION_POINTS[name];
  const servers = points.filter(({ layer }) => layer === "server");
  const next = servers[servers.findIndex(({ step }) => step === behind) + 1];
  return behind !== undefined && next !== undefined && points.indexOf(point) >= points.indexOf(next);
}

for (const [name, { first, ask: transition, statuses, pausedBehind }] of Object.entries(WAYS) as [Kept, (typeof WAYS)[Kept]][]) {
  const [begun, done, failed] = statuses;
  describe(name, () => {
    for (const point of TRANSITION_POINTS[name]) {
      test(`that the server is killed in before ${point.layer}'s ${point.step} loses nothing`, async () => {
        expect((await first?.(ask))?.status).toBe(begun);
        platform().inject({ ...point, when: "before", act: "die" });
        const answer = transition(ask).catch(() => undefined);
        await platform().died();
        expect(await answer).toBeUndefined();
        await platform().restart();
        const before = name === "resume" ? "paused" : "running";
        await goesOn(isBehind(name, point, pausedBehind) ? "paused" : before);
      }, 60_000);

      test(`that fails before ${point.layer}'s ${point.step} loses nothing, and works the next time`, async () => {
        expect((await first?.(ask))?.status).toBe(begun);
        const from = await stateNow();
        platform().inject({ ...point, when: "before", act: "internal" });
        // A pause that is done when the store does not take it is not undone.
        const isUndone = point.step !== "pause result";
        expect((await transition(ask)).status).toBe(isUndone ? failed : 500);
        if (isUndone) {
          expect(await stateNow()).toBe(from);
          expect((await transition(ask)).status).toBe(done);
        }
        await goesOn(name === "pause" ? "paused" : "running");
      }, 60_000);
    }
  });
}

describe("a resume of a sandbox that is still in memory", () => {
  for (const point of WAKE_POINTS) {
    test(`that the server is killed in before ${point.step} loses nothing`, async () => {
      expect((await ask("pause")).status).toBe(204);
      platform().inject({ ...point, when: "before", act: "die" });
      const answer = ask("resume").catch(() => undefined);
      await platform().died();
      expect(await answer).toBeUndefined();
      await platform().restart();
      await goesOn("paused");
    }, 60_000);

    test(`that fails before ${point.step} is one from the image`, async () => {
      expect((await ask("pause")).status).toBe(204);
      platform().inject({ ...point, when: "before", act: "internal" });
      expect((await ask("resume")).status).toBe(201);
      await goesOn("running");
    }, 60_000);
  }
});
