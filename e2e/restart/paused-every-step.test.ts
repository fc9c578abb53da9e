import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { eventually, type FaultPoint } from "@boxyard/testkit";
import { PAUSE_POINTS, RESUME_POINTS } from "@boxyard/testkit/fault-points";
import { usePlatform } from "../support/platform.ts";
import { createSandbox, type HeldSandbox } from "../support/sandbox.ts";

/* The real server is killed as by `kill -9` at each step of a pause and of a resume. No sandbox is lost: the next server finds it running or paused. */

const platform = usePlatform({ faults: true });
let sandbox: HeldSandbox;
beforeEach(async () => {
  sandbox = await createSandbox(platform(), { timeoutMs: 600_000 });
  await sandbox.client.commands.run("i=0; while :; do i=$((i+1)); echo $i > /tmp/count; sleep 0.05; done", {
    background: true,
    timeoutMs: 0,
  });
  await eventually("it counts", async () => (await count()) > 0);
});
afterEach(() => sandbox[Symbol.asyncDispose]());

const count = async () => Number((await sandbox.asRoot("cat /tmp/count 2> /dev/null || echo 0")).stdout);
const stateOf = async () => ((await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { state?: string }).state ?? "";
const post = (verb: string) => platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/${verb}`, body: {} });

async function dieDuring(point: Omit<FaultPoint, "when">, verb: string): Promise<void> {
  platform().inject({ ...point, when: "before", act: "die" });
  const answer = post(verb).catch(() => undefined);
  await platform().died();
  expect(await answer).toBeUndefined();
  await platform().restart();
}

/** Its processes are those of before, and it can be paused and resumed. */
async function isWhole(): Promise<void> {
  for (let round = 0; round < 2; round++) {
    if ((await stateOf()) === "paused") await sandbox.client.connect({ timeoutMs: 600_000 });
    const seen = await count();
    expect(seen).toBeGreaterThan(0);
    await eventually("it counts on", async () => (await count()) > seen);
    if (round === 0) expect(await sandbox.client.pause()).toBe(true);
  }
}

describe("kill -9 in a pause", () => {
  test.each(PAUSE_POINTS.map((point) => [point.layer, point.step, point] as const))("before %s's %s", async (_layer, _step, point) => {
    await dieDuring(point, "pause");
    expect(["running", "paused"]).toContain(await stateOf());
    await isWhole();
  });
});

describe("kill -9 in a resume", () => {
  test.each(RESUME_POINTS.map((point) => [point.layer, point.step, point] as const))("before %s's %s", async (_layer, _step, point) => {
    expect((await post("pause")).status).toBe(204);
    await dieDuring(point, "resume");
    expect(await stateOf()).toBe("paused");
    await isWhole();
  });
});
