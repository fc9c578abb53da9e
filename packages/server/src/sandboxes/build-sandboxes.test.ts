import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { BuildBench } from "../testing/build-bench.ts";
import { Place } from "../testing/place.ts";
import type { TestServer } from "../testing/test-server.ts";

const step = { type: "RUN", args: ["sleep for ever"] };

/** Starts a build whose step does not end; gives its sandbox. */
async function building(s: TestServer) {
  const bench = new BuildBench(s);
  const of = await bench.request("forever");
  bench.answer = ({ args }) => (args.at(-1) === step.args[0] ? new Promise<never>(() => {}) : undefined);
  expect((await bench.start(of, { steps: [step] })).status).toBe(202);
  await eventually("its sandbox runs", () => s.server.engine.sandboxes.all().some(({ state }) => state === "running"));
  const [sandbox] = s.server.engine.sandboxes.all();
  if (!sandbox) throw new Error("no sandbox");
  return { sandbox, of };
}

test("a build's sandbox is in store and engine, and no client sees, counts or reaches it", async () => {
  await using place = new Place();
  const s = await place.boot({ env: { BOXYARD_MAX_SANDBOXES: "1" } });
  const { sandbox, of } = await building(s);
  const { id } = sandbox;
  expect(sandbox.record.owner).toEqual({ kind: "build", id: of.buildID });
  expect(await s.server.context.store.listLiving()).toMatchObject([{ id, state: "running", owner: { kind: "build", id: of.buildID } }]);
  expect((await s.call("GET", "/v2/sandboxes")).body).toEqual([]);
  for (const [method, path] of [
    ["GET", ""],
    ["DELETE", ""],
    ["GET", "/logs"],
    ["GET", "/metrics"],
    ["POST", "/connect"],
  ] as const) {
    const body = method === "POST" ? { timeout: 60 } : undefined;
    expect([path, (await s.call(method, `/sandboxes/${id}${path}`, body)).status]).toEqual([path, 404]);
  }
  expect((await fetch(`${s.url}/health`, { headers: { "Svc-Sandbox-Id": id, "Svc-Sandbox-Port": "49983" } })).status).toBe(502);
  expect((await s.create()).sandboxID).not.toBe(id);
  for (const _ of [1, 2, 3]) await s.server.sweep.once();
  expect(place.world.sandboxes.has(id)).toBe(true);
});
