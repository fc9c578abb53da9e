import { afterEach, expect, test } from "bun:test";
import { type ApiReply, eventually, type FaultPoint } from "@boxyard/testkit";
import { KEEP_IN_MEMORY, TRANSITION_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";

/*
 * The real server is killed as by `kill -9` at each step of `getOrCreate`: of the create by its first caller, who prepares the sandbox, and of the resume by
 * a later one. The name has one sandbox afterwards, the same for everybody.
 */

const platform = usePlatform({ faults: true });
const NAME = "named";

const [intent, make, result] = TRANSITION_POINTS.createOnce;
if (!intent || !make || !result) throw new Error("a create under a name has three points");
const CREATE = [intent, make, ...TRANSITION_POINTS.create, result].map((point) => ({ ...point, when: "before" as const }));

const at = (path: string) => `/sandboxes/${path}`;
const get = (setup?: object) =>
  platform().api({ method: "PUT", path: at(`by-name/${NAME}`), body: { templateID: "base", timeout: 300, ...(setup && { setup }) } });
const CREATOR = { creator: "the-first", leaseSeconds: 60 };
const saidOf = ({ status, body }: ApiReply) => [status, (body as { outcome?: string }).outcome];
const idOf = ({ body }: ApiReply) => (body as { sandboxID: string }).sandboxID;
const listed = async () =>
  ((await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[]).map(({ sandboxID }) => sandboxID);

afterEach(async () => {
  for (const id of await listed()) await platform().api({ method: "DELETE", path: at(id) });
  await eventually("nothing is kept", () => keptSandboxes(platform()).length === 0);
});

async function dieIn(point: FaultPoint, ask: () => Promise<unknown>): Promise<void> {
  platform().inject({ ...point, act: "die" });
  const answer = ask().catch(() => undefined);
  await platform().died();
  expect(await answer).toBeUndefined();
  await platform().restart();
}

for (const point of [...CREATE, { ...result, when: "after" as const }]) {
  test(`a first caller whose server is killed ${point.when} ${point.layer}'s ${point.step} asks again, creates, and prepares it for all`, async () => {
    await dieIn(point, () => get(CREATOR));
    const left = await listed();
    expect(left).toHaveLength(point.when === "after" ? 1 : 0);
    const again = await get(CREATOR);
    expect(saidOf(again)).toEqual([201, "created"]);
    const id = idOf(again);
    expect(await listed()).toEqual([id]);
    if (left.length > 0) expect(left).toEqual([id]);
    expect((await platform().api({ method: "PUT", path: at(`${id}/setup`), body: { ...CREATOR, done: true } })).status).toBe(204);
    const other = await get({ ...CREATOR, creator: "the-second" });
    expect([...saidOf(other), idOf(other)]).toEqual([200, "running", id]);
    expect(await listed()).toEqual([id]);
  }, 60_000);
}

for (const point of TRANSITION_POINTS.resume.map((one) => ({ ...one, when: "before" as const }))) {
  test(`a caller whose server is killed before ${point.layer}'s ${point.step} of the resume gets the same sandbox afterwards`, async () => {
    const id = idOf(await get());
    // From the disk, with all steps.
    platform().inject({ ...KEEP_IN_MEMORY, when: "before", act: "internal" });
    expect((await platform().api({ method: "POST", path: at(`${id}/pause`), body: {} })).status).toBe(204);
    await dieIn(point, () => get());
    const again = await get();
    expect([...saidOf(again), idOf(again)]).toEqual([200, "resumed", id]);
    expect(await listed()).toEqual([id]);
  }, 60_000);
}
