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

const triggers = async (body: object) => (await s.call("POST", "/boxyard/triggers", body)).body;
const onBuild = ["RUN one", "COPY a b"];

test("a template keeps its triggers for those that begin with it, and not for theirs", async () => {
  expect((await bench.build("parent", { onBuild })).status).toBe("ready");
  expect(await triggers({ fromTemplate: "parent" })).toEqual({ onBuild });
  expect((await bench.build("child", { fromImage: undefined, fromTemplate: "parent", onBuildDone: onBuild })).status).toBe("ready");
  expect(await triggers({ fromTemplate: "child" })).toEqual({ onBuild: [] });
});

test("the name of an image that stands for a template is asked of no registry", async () => {
  expect(await triggers({ fromImage: "boxyard/parent" })).toEqual({ onBuild });
  expect(await triggers({ fromImage: "e2bdev/base" })).toEqual({ onBuild: [] });
});

test("a build of a client that has not asked for them says what was not done", async () => {
  const told = async (name: string, onBuildDone: string[]) => {
    const { of } = await bench.build(name, { fromImage: undefined, fromTemplate: "parent", onBuildDone });
    return (await bench.log(of)).filter((line) => line.includes("not done"));
  };
  expect(await told("none", [])).toEqual(['[base] not done: ONBUILD "RUN one"', '[base] not done: ONBUILD "COPY a b"']);
  expect(await told("some", ["RUN one"])).toEqual(['[base] not done: ONBUILD "COPY a b"']);
  expect(await told("all", onBuild)).toEqual([]);
});

test("a base that cannot be read has no triggers", async () => {
  for (const body of [{ fromTemplate: "missing" }, { fromImage: "scratch" }, { fromImage: "127.0.0.1:1/x" }, { fromImage: "A B" }, {}])
    expect(await triggers(body)).toEqual({ onBuild: [] });
});
