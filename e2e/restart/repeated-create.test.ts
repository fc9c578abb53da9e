import { afterEach, expect, test } from "bun:test";
import { eventually, type FaultPoint } from "@boxyard/testkit";
import { TRANSITION_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";

/*
 * The real server, with the real driver, is killed as by `kill -9` at each step of a create under an idempotency key and a name: the next server has one
 * sandbox or none, and the same key, as the same name, gets that one.
 */

const platform = usePlatform({ faults: true });
/** The store of the platform outlives this run, and its keys are kept for a day: those of an earlier run must not answer. */
const RUN = crypto.randomUUID();
const keyOf = (what: string | number) => ({ "Idempotency-Key": `${RUN}-${what}` });

const [intent, make, result] = TRANSITION_POINTS.createOnce;
if (!intent || !make || !result) throw new Error("a create under a key has three points");
const POINTS = [intent, make, ...TRANSITION_POINTS.create, result].map((point) => ({ ...point, when: "before" as const }));

const create = (body: object, headers = {}) => platform().api({ method: "POST", path: "/v2/sandboxes", body, headers });
const byName = (name: string) => platform().api({ method: "PUT", path: `/sandboxes/by-name/${name}`, body: { templateID: "base" } });
const listed = async () =>
  ((await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);
const idOf = ({ body }: { body?: unknown }) => (body as { sandboxID: string }).sandboxID;

afterEach(async () => {
  for (const id of await listed()) await platform().api({ method: "DELETE", path: `/sandboxes/${id}` });
  await eventually("nothing is kept", () => keptSandboxes(platform()).length === 0);
});

/** Asks for a sandbox of a name of its own under a key, lets the server die at `point`, and starts it again. */
async function dieIn(point: FaultPoint, index: number) {
  const name = `of-${index}`;
  const ask = () => create({ templateID: "base", name }, keyOf(index));
  platform().inject({ ...point, act: "die" });
  const answer = ask().catch(() => undefined);
  await platform().died();
  expect(await answer).toBeUndefined();
  await platform().restart();
  return { name, ask };
}

for (const [index, point] of POINTS.entries()) {
  test(`a create under a key that is killed before ${point.layer}'s ${point.step} leaves nothing; the same key gets one sandbox`, async () => {
    const { name, ask } = await dieIn(point, index);
    expect(await listed()).toEqual([]);
    const again = await ask();
    expect(again.status).toBe(201);
    expect(await listed()).toEqual([idOf(again)]);
    expect([idOf(await ask()), idOf(await byName(name))]).toEqual([idOf(again), idOf(again)]);
    expect(await listed()).toEqual([idOf(again)]);
  }, 60_000);
}

test("a create under a key that is killed after its last step is told by the same key", async () => {
  const { name, ask } = await dieIn({ ...result, when: "after" }, POINTS.length);
  const made = await listed();
  expect(made).toHaveLength(1);
  const again = await ask();
  expect([again.status, idOf(again)]).toEqual([201, made[0] as string]);
  expect(idOf(await byName(name))).toBe(made[0] as string);
  expect(await listed()).toEqual(made);
}, 60_000);

test("the same key is answered in the same way for a day, also by the next server", async () => {
  const first = idOf(await create({ templateID: "base" }, keyOf("the-same")));
  await platform().kill9();
  await platform().restart();
  expect(idOf(await create({ templateID: "base" }, keyOf("the-same")))).toBe(first);
  expect(await listed()).toEqual([first]);
}, 60_000);
