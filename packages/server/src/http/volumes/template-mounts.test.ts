import { afterEach, beforeEach, expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let bench: BuildBench;
beforeEach(async () => {
  s = await TestServer.start();
  bench = new BuildBench(s);
  for (const name of ["data", "own"]) await s.call("POST", "/volumes", { name });
});
afterEach(() => s[Symbol.asyncDispose]());

const build = (volumeMounts: unknown, name = "with-volume", more: object = {}) => bench.build(name, { volumeMounts, ...more });
const create = (body: object = {}) => s.call("POST", "/v2/sandboxes", { templateID: "with-volume", ...body });
const mountsOf = async (sandboxID: string) => (await s.call("GET", `/sandboxes/${sandboxID}`)).body.volumeMounts;

test("each sandbox of a template has its volumes; its own at the same path replaces one", async () => {
  await build([
    { name: "data", path: "/data", readOnly: true },
    { name: "data", path: "/cache" },
  ]);
  const plain = await create();
  expect([plain.status, await mountsOf(plain.body.sandboxID)]).toEqual([
    201,
    [
      { name: "data", path: "/data", readOnly: true },
      { name: "data", path: "/cache" },
    ],
  ]);
  const other = await create({ volumeMounts: [{ name: "own", path: "/data" }] });
  expect(await mountsOf(other.body.sandboxID)).toEqual([
    { name: "own", path: "/data" },
    { name: "data", path: "/cache" },
  ]);
  const overlap = await create({ volumeMounts: [{ name: "own", path: "/data/below" }] });
  expect([overlap.status, overlap.body.message]).toEqual([400, expect.stringContaining("volumeMounts: Two volumes cannot be mounted at")]);
});

test("a volume that is missing when a sandbox is created is named, with the template", async () => {
  await build([{ name: "later", path: "/data" }]);
  const refused = await create();
  expect([refused.status, refused.body.message]).toEqual([
    400,
    "volumeMounts: there is no volume 'later', which the template 'with-volume' has at /data: create it, or name another for this path",
  ]);
  await s.call("POST", "/volumes", { name: "later" });
  expect((await create()).status).toBe(201);
});

test("a build refuses mounts that no sandbox can have", async () => {
  for (const [mounts, text] of [
    [[{ name: "data", path: "relative" }], 'volumeMounts: No volume can be mounted at "relative"'],
    [[{ name: "data", path: "/proc/x" }], 'volumeMounts: No volume can be mounted at "/proc/x"'],
    [[{ name: "data", path: "/a" }, ...[{ name: "own", path: "/a" }]], "volumeMounts: Two volumes cannot be mounted at"],
    [Array.from({ length: 33 }, (_, i) => ({ name: "data", path: `/m${i}` })), "volumeMounts: A sandbox has at most 32 volumes"],
  ] as const) {
    const { body: made } = await s.call("POST", "/v3/templates", { name: "refused" });
    const started = await s.call("POST", `/v2/templates/${made.templateID}/builds/${made.buildID}`, {
      fromTemplate: "base",
      volumeMounts: mounts,
    });
    expect([started.status, started.body.message]).toEqual([400, expect.stringContaining(text)]);
  }
});

test("a command of a build has no volume as a mount", async () => {
  const { body: made } = await s.call("POST", "/v3/templates", { name: "refused" });
  const steps = [{ type: "RUN", args: ["true"], mounts: [{ type: "volume", id: "data", target: "/data" }] }];
  const started = await s.call("POST", `/v2/templates/${made.templateID}/builds/${made.buildID}`, { fromTemplate: "base", steps });
  expect([started.status, started.body.message]).toEqual([400, expect.stringContaining("mounts")]);
});

test("the build itself has none: its commands run without, it needs none to exist, and nobody uses one meanwhile", async () => {
  const during: unknown[] = [];
  bench.answer = async ({ args }) => {
    if (args.at(-1) !== "look") return {};
    during.push(...[...s.world.sandboxes.values()].map(({ spec }) => spec.volumes ?? []));
    for (const { volumeID } of (await s.call("GET", "/volumes")).body as { volumeID: string }[])
      during.push((await s.call("DELETE", `/volumes/${volumeID}`)).status);
    return {};
  };
  const { status } = await build([{ name: "data", path: "/data" }], "with-volume", { steps: [{ type: "RUN", args: ["look"] }] });
  expect([status, during]).toEqual(["ready", [[], 204, 204]]);
});

test("sandboxes with the template's volumes boot, and its memory is not kept", async () => {
  await build([{ name: "data", path: "/data" }], "with-volume", { startCmd: "serve", readyCmd: "is-ready" });
  expect(s.world.snapshots.size).toBe(0);
  const { body } = await create();
  expect(s.world.sandboxes.get(body.sandboxID)?.spec.from).toBeUndefined();
});

test("a template that is built on it does not inherit them", async () => {
  await build([{ name: "data", path: "/data" }]);
  await bench.build("on-it", { fromImage: undefined, fromTemplate: "with-volume" });
  expect(await mountsOf((await create({ templateID: "on-it" })).body.sandboxID)).toBeUndefined();
});

test("a template of another team gets no volume of this one by its name", async () => {
  const { store, templates } = s.server.context;
  const teamId = await store.ensureTeam("others", "Others");
  const [base] = templates.ofTeam(await store.ensureTeam("default", "")).filter(({ record }) => record.name === "base");
  const spec = base?.versions[0]?.spec;
  if (!spec) throw new Error("base has no version");
  await store.templates.put(teamId, "theirs", "default", { ...spec, volumeMounts: [{ name: "data", path: "/data" }] }, 1);
  await templates.load();
  const refused = await create({ templateID: "others/theirs" });
  expect([refused.status, refused.body.message]).toEqual([
    400,
    expect.stringContaining("the template 'theirs' of another team has volumes at /data: name volumes of your own for these paths"),
  ]);
  const own = await create({ templateID: "others/theirs", volumeMounts: [{ name: "own", path: "/data" }] });
  expect(await mountsOf(own.body.sandboxID)).toEqual([{ name: "own", path: "/data" }]);
});
