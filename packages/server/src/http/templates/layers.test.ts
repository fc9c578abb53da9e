import { afterAll, beforeAll, expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

let s: TestServer;
let bench: BuildBench;
beforeAll(async () => {
  s = await TestServer.start();
  bench = new BuildBench(s);
});
afterAll(() => s[Symbol.asyncDispose]());

const layersOf = async (template: string) => (await s.call("GET", `/boxyard/templates/${template}/layers`)).body;

test("layers with their sizes, the lowest first, and who else has them", async () => {
  const { of: lower } = await bench.build("lower", { steps: [{ type: "RUN", args: ["one"] }] });
  const { of: upper } = await bench.build("upper", {
    fromImage: undefined,
    fromTemplate: "lower",
    steps: [{ type: "RUN", args: ["two"] }],
  });
  const [below, above] = [await layersOf("lower"), await layersOf(upper.templateID)];
  expect([below.buildID, above.buildID, above.layers.length > below.layers.length]).toEqual([lower.buildID, upper.buildID, true]);
  expect(above.layers.slice(0, below.layers.length).map(({ digest }: { digest: string }) => digest)).toEqual(
    below.layers.map(({ digest }: { digest: string }) => digest),
  );
  expect(below.layers.at(-1)).toEqual({
    digest: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
    sizeBytes: expect.any(Number),
    createdAt: expect.stringMatching(/Z$/),
    templates: [upper.templateID],
  });
  expect(above.layers.at(-1).templates).toEqual([]);
});

test("a layer that is lost is named without a size; a template without a build has none; another id is 404", async () => {
  const { digest } = (await layersOf("upper")).layers.at(-1);
  s.world.layers.delete(digest);
  expect((await layersOf("upper")).layers.at(-1)).toEqual({ digest, templates: [] });
  await bench.request("waiting");
  expect(await layersOf("waiting")).toEqual({ buildID: "", layers: [] });
  expect((await s.call("GET", "/boxyard/templates/none/layers")).status).toBe(404);
});
