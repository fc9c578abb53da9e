import { expect, test } from "bun:test";
import { BuildBench } from "../../testing/build-bench.ts";
import { TestServer } from "../../testing/test-server.ts";

test("a build that is started while its cancellation is under way is cancelled", async () => {
  await using s = await TestServer.start();
  const bench = new BuildBench(s);
  bench.answer = ({ args }) => (args.at(-1) === "wait" ? new Promise(() => {}) : undefined);
  const of = await bench.request("together");
  const { templates } = s.server.context.store;
  const { getBuild } = templates;
  const [seen, held] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  templates.getBuild = async (id) => {
    const found = await getBuild.call(templates, id);
    templates.getBuild = getBuild;
    seen.resolve();
    await held.promise;
    return found;
  };
  const cancelling = s.call("POST", `/templates/${of.templateID}/builds/${of.buildID}/cancel`);
  await seen.promise;
  expect((await bench.start(of, { steps: [{ type: "RUN", args: ["wait"] }] })).status).toBe(202);
  held.resolve();
  expect((await cancelling).status).toBe(204);
  expect(await bench.status(of)).toMatchObject({ status: "error", reason: { message: "The build was cancelled" } });
  expect(s.world.sandboxes.size).toBe(0);
});
