import { expect, test } from "bun:test";
import { type ErrorCode, HTTP_STATUS } from "@boxyard/core";
import { eventually, type FaultPoint, settledDifferences, takeSnapshot } from "@boxyard/testkit";
import { CREATE_POINTS } from "@boxyard/testkit/fault-points";
import { keptSandboxes, openDescriptors } from "../support/ours.ts";
import { usePlatform } from "../support/platform.ts";

/*
 * Clients send a create again that was answered 502, 503 or 504 (docs/contract/platform.md, Retries), so such an answer promises that nothing is left. The real
 * server fails at every step here.
 */

const platform = usePlatform({ faults: true });
const create = (headers = {}) => platform().api({ method: "POST", path: "/v2/sandboxes", body: { templateID: "base" }, headers });
const listed = async () => (await platform().api({ path: "/v2/sandboxes" })).body as { sandboxID: string }[];

/** What a create answers when a step fails with an error of this code. */
const ANSWERS = [
  ["unavailable", 503, "sandbox_capacity_unavailable"],
  ["resource_exhausted", 503, "sandbox_capacity_unavailable"],
  ["deadline_exceeded", 504, "sandbox_placement_timeout"],
  ["internal", 500, "sandbox_create_failed"],
] as const;

/** Lets a create fail at `point` and compares the machine, the list and what is kept with what was before. */
async function failsAt(point: FaultPoint, [act, status, reason]: (typeof ANSWERS)[number]): Promise<void> {
  const before = takeSnapshot();
  const descriptors = openDescriptors(platform().pid);
  platform().inject({ ...point, act });
  const { status: answered, body, headers } = await create();
  expect([point, answered, (body as { error_code: string }).error_code]).toEqual([point, status, reason]);
  expect(headers.get("retry-after")).toBe(status === 503 ? "2" : null);
  // At once, not after a while: by now the client may have sent it again.
  expect([await listed(), keptSandboxes(platform())]).toEqual([[], []]);
  expect([point, await settledDifferences(platform().dataDir, before)]).toEqual([point, []]);
  await eventually("descriptors are given back", () => openDescriptors(platform().pid) <= descriptors + 2);
}

for (const when of ["before", "after"] as const) {
  test(`a create that fails ${when} any step leaves nothing, whatever it answers`, async () => {
    const { sandboxID } = (await create()).body as { sandboxID: string }; // What is made once and stays comes into being.
    await platform().api({ method: "DELETE", path: `/sandboxes/${sandboxID}` });
    for (const [index, point] of CREATE_POINTS.entries()) {
      const answer = ANSWERS[index % ANSWERS.length];
      if (answer) await failsAt({ ...point, when }, answer);
    }
  });
}

test("whatever the code of the error is, a create is never answered with 502, and leaves nothing", async () => {
  const [point] = CREATE_POINTS;
  if (!point) throw new Error("there are no steps");
  for (const code of Object.keys(HTTP_STATUS) as ErrorCode[]) {
    platform().inject({ ...point, when: "after", act: code });
    expect([code, (await create()).status]).not.toEqual([code, 502]);
  }
  expect([await listed(), keptSandboxes(platform())]).toEqual([[], []]);
});

test("what could not be removed is answered as what made the create fail, cannot be seen, and is removed by the next server", async () => {
  const before = takeSnapshot();
  platform().inject(
    { layer: "driver", step: "network", when: "after", act: "unavailable" },
    { layer: "driver", step: "removeDisk", when: "before", act: "internal" },
    { layer: "driver", step: "removeDisk", when: "before", act: "internal" },
  );
  expect([(await create()).status, await listed()]).toEqual([503, []]);
  expect(new Set(keptSandboxes(platform())).size).toBe(1);
  await platform().restart(); // Or the next sweep; this is quicker.
  await eventually("nothing is kept", () => keptSandboxes(platform()).length === 0);
  expect(await settledDifferences(platform().dataDir, before)).toEqual([]);
});

test("a client that sends a failed create again, under the same key, gets one sandbox", async () => {
  const key = { "Idempotency-Key": crypto.randomUUID() };
  platform().inject({ layer: "driver", step: "start", when: "after", act: "unavailable" });
  expect((await create(key)).status).toBe(503);
  const again = await create(key);
  expect(again.status).toBe(201);
  expect((await create(key)).body).toEqual(again.body);
  expect((await listed()).map(({ sandboxID }) => sandboxID)).toEqual([(again.body as { sandboxID: string }).sandboxID]);
});
