import { afterEach, describe, expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { TRANSITION_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";
import { reconnect } from "../support/sandbox.ts";
import { figure, ONE_WARM, untilWarm } from "../support/warm.ts";

/*
 * The real server, with the real driver, is killed as by `kill -9` while sandboxes wait, and before each step of a claim and of the making of a warm
 * sandbox, and each step fails once. A claim is done or was never there. What waits goes on waiting, unless its claim had begun.
 */

const platform = usePlatform({ faults: true, env: ONE_WARM });

const create = (headers: Record<string, string> = {}) =>
  platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base", envVars: { SECRET: "of the first" } }, headers });
const listed = async () =>
  ((await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
const kill = (id: string) => platform().api({ method: "DELETE", path: `/sandboxes/${id}` });
const idOf = ({ body }: { body: unknown }) => (body as { sandboxID: string }).sandboxID;
const keptIds = () => [...new Set(keptSandboxes(platform()))];

/** One sandbox waits, and no user has any. Returns the id of the one that waits. */
async function onlyWarm(): Promise<string> {
  await kill(idOf(await create()));
  await untilWarm(platform());
  await eventually("only that one is kept", () => keptIds().length === 1);
  return keptIds()[0] ?? "";
}

afterEach(async () => {
  for (const id of await listed()) await kill(id);
  await platform().restart();
  await eventually("nothing is kept", () => keptIds().length === 0);
});

async function printed(id: string, command: string): Promise<string> {
  return (await (await reconnect(platform(), id)).client.commands.run(command)).stdout.trim();
}

test("kill -9 of the server leaves what waits, and the next server hands it out", async () => {
  const member = await onlyWarm();
  await platform().kill9();
  expect(keptIds()).toEqual([member]);
  await platform().restart();
  expect([await listed(), await figure(platform(), "boxyard_warm_sandboxes")]).toEqual([[], 1]);
  const { status, body } = await create();
  expect([status, idOf({ body })]).toEqual([201, member]);
  expect(await printed(member, 'echo "$SECRET $(hostname)"')).toBe(`of the first ${member}`);
}, 60_000);

/** The first step that the next server can see: from then on the sandbox may have something of a user. */
const FIRST_OF_USER = "claim network";

describe("kill -9 in a claim", () => {
  const steps = TRANSITION_POINTS.claim.map(({ step }) => step);
  for (const point of TRANSITION_POINTS.claim) {
    const isWaiting = steps.indexOf(point.step) < steps.indexOf(FIRST_OF_USER);
    test(`before ${point.step} leaves ${isWaiting ? "it waiting" : "nothing of it"}, and the same key makes a sandbox`, async () => {
      const member = await onlyWarm();
      platform().inject({ ...point, when: "before", act: "die" });
      // The store may have the keys of an earlier run.
      const key = { "Idempotency-Key": crypto.randomUUID() };
      const answer = create(key).catch(() => undefined);
      await platform().died();
      expect(await answer).toBeUndefined();
      await platform().restart();
      expect(await listed()).toEqual([]);
      if (!isWaiting) await eventually("nothing is kept", () => keptIds().length === 0);
      const again = await create(key);
      expect([again.status, await listed()]).toEqual([201, [idOf(again)]]);
      expect(idOf(again) === member).toBe(isWaiting);
    }, 60_000);
  }

  test("after its last step leaves a whole sandbox, which the same key leads to", async () => {
    const member = await onlyWarm();
    platform().inject({ layer: "server", step: "claim result", when: "after", act: "die" });
    const key = { "Idempotency-Key": crypto.randomUUID() };
    const answer = create(key).catch(() => undefined);
    await platform().died();
    expect(await answer).toBeUndefined();
    await platform().restart();
    expect(await listed()).toEqual([member]);
    expect([idOf(await create(key)), await listed()]).toEqual([member, [member]]);
    expect(await printed(member, 'echo "$SECRET $(hostname)"')).toBe(`of the first ${member}`);
  }, 60_000);
});

describe("a claim that fails", () => {
  for (const point of TRANSITION_POINTS.claim) {
    test(`before ${point.step} costs that sandbox alone`, async () => {
      const member = await onlyWarm();
      platform().inject({ ...point, when: "before", act: "internal" });
      const made = await create();
      // What fails once the sandbox is ready would fail in another one too.
      const isReady = point.step === "claim startCommand" || point.step === "claim result";
      expect(made.status).toBe(isReady ? 500 : 201);
      if (!isReady) expect(idOf(made)).not.toBe(member);
      await eventually("the other is removed", () => !keptIds().includes(member));
      expect(await listed()).toEqual(isReady ? [] : [idOf(made)]);
    }, 60_000);
  }
});

describe("kill -9 while a sandbox is made for the pool", () => {
  // The driver's steps are those of a user's create, which every-step.test.ts kills the server in.
  for (const point of TRANSITION_POINTS.warm.filter(({ layer }) => layer === "server")) {
    test(`before ${point.step} leaves what the user has, and nothing else`, async () => {
      platform().inject({ ...point, when: "before", act: "die" });
      const id = idOf(await create());
      await platform().died();
      await platform().restart();
      expect(await listed()).toEqual([id]);
      await eventually("nothing else is kept", () => Bun.deepEquals(keptIds(), [id]));
      expect(await printed(id, "echo lives")).toBe("lives");
    }, 60_000);
  }
});
