import { afterEach, beforeEach, expect, test } from "bun:test";
import { AppError } from "@boxyard/core";
import { FakeWorld } from "@boxyard/driver/fake";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let bench: BuildBench;
beforeEach(async () => {
  s = await TestServer.start();
  bench = new BuildBench(s);
});
afterEach(() => s[Symbol.asyncDispose]());

const STARTED = { startCmd: "serve", readyCmd: "is-ready" };
const starts = () => bench.commands.filter((command) => command === "serve").length;
const create = async (body: object = {}) => {
  const { status, body: made } = await s.call("POST", "/v2/sandboxes", { templateID: "served", ...body });
  expect(status).toBe(201);
  const found = s.world.sandboxes.get(made.sandboxID);
  if (!found) throw new Error("gone");
  return { made, found };
};

test("a template with a start command is captured once it is ready; sandboxes start from that, each as its create says", async () => {
  const { of } = await bench.build("served", { ...STARTED, steps: [{ type: "ENV", args: ["OF", "template"] }] });
  expect([s.world.snapshots.size, s.world.sandboxes.size, starts()]).toEqual([1, 0, 2]);
  expect((await bench.log(of)).filter((line) => line.includes("memory")).length).toBe(1);
  const { made, found } = await create({ metadata: { a: "b" }, envVars: { OWN: "1" } });
  expect([found.spec.from, starts()]).toEqual([{ snapshot: [...s.world.snapshots.keys()][0] ?? "", memory: true }, 2]);
  expect(found.agent?.inits).toEqual([
    expect.objectContaining({
      accessToken: made.envdAccessToken,
      sandboxID: made.sandboxID,
      envVars: expect.objectContaining({ OWN: "1", OF: "template", E2B_SANDBOX_ID: made.sandboxID }),
    }),
  ]);
  expect((await s.call("GET", `/sandboxes/${made.sandboxID}`)).body.metadata).toEqual({ a: "b" });
  expect((await s.call("GET", "/snapshots")).body).toEqual([]);
  await s.server.sweep.once();
  expect(s.world.snapshots.size).toBe(1);
});

test("the image goes with its template, and with the version that a build replaces", async () => {
  await bench.build("served", STARTED);
  const [first] = s.world.snapshots.keys();
  await bench.build("served", STARTED);
  await s.server.sweep.once();
  expect([s.world.snapshots.size, s.world.snapshots.has(first ?? "")]).toEqual([1, false]);
  expect((await s.call("DELETE", "/templates/served")).status).toBe(204);
  expect(s.world.snapshots.size).toBe(0);
});

test.each([
  ["the build says so", { startFromMemory: false }, {}],
  ["the server says so", {}, { BOXYARD_START_FROM_MEMORY: "off" }],
] as const)("none is kept when %s: each sandbox runs the start command", async (_why, body, env) => {
  await s[Symbol.asyncDispose]();
  s = await TestServer.start({ env });
  bench = new BuildBench(s);
  await bench.build("served", { ...STARTED, ...body });
  const before = starts();
  const { found } = await create();
  expect([s.world.snapshots.size, found.spec.from, starts()]).toEqual([0, undefined, before + 1]);
});

test("where no memory can be kept, or the capture fails, the template is still made", async () => {
  s.world.faults.add("capture", { kind: "fail" });
  const { status, of } = await bench.build("served", STARTED);
  expect([status, (await bench.log(of)).some((line) => line.startsWith("Each sandbox will run the start command"))]).toEqual([
    "ready",
    true,
  ]);
  const before = starts();
  await create();
  expect([starts(), s.world.snapshots.size]).toEqual([before + 1, 0]);
  const world = new FakeWorld();
  world.checkpoint = "disk";
  await using other = await TestServer.start({ world });
  expect((await new BuildBench(other).build("served", STARTED)).status).toBe("ready");
});

test.each(["create", "start"] as const)(
  "when a %s cannot use the memory image, the sandbox boots, its log says so, and the image is not tried again",
  async (verb) => {
    await bench.build("served", STARTED);
    const before = starts();
    const broken = new AppError("internal", "CRIU could not restore", { reason: "restore_failed" });
    s.world.faults.add(verb, { kind: "fail", error: broken });
    const { made, found } = await create();
    expect([found.spec.from, starts()]).toEqual([undefined, before + 1]);
    const { logs } = (await s.call("GET", `/v2/sandboxes/${made.sandboxID}/logs`)).body;
    expect(JSON.stringify(logs)).toContain("it boots instead");
    expect((await create()).found.spec.from).toBeUndefined();
  },
);

test("a create that fails for lack of memory is refused, and does not boot", async () => {
  await bench.build("served", STARTED);
  s.world.faults.add("start", { kind: "fail", error: new AppError("resource_exhausted", "no memory", { reason: "no_memory" }) });
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "served" })).status).toBe(503);
  expect((await create()).found.spec.from).toBeDefined();
});

test("a template whose memory is gone boots", async () => {
  await bench.build("served", STARTED);
  s.world.snapshots.clear();
  expect((await create()).found.spec.from).toBeUndefined();
});
