import { expect, test } from "bun:test";
import { AppError, type SandboxId } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { TestServer, type TestServerOptions } from "../../testing/test-server.ts";
import { pause } from "../transitions/pause.ts";

/** A server on which the named point of a transition hangs once, whatever its signal does, until `end` is called. */
async function hangingAt(when: "before" | "after", point: string, options: TestServerOptions = {}) {
  const gate = Promise.withResolvers<void>();
  const reached = Promise.withResolvers<void>();
  let isFirst = true;
  const hook = (name: string) => {
    if (name !== point || !isFirst) return undefined;
    isFirst = false;
    reached.resolve();
    return gate.promise;
  };
  const s = await TestServer.start({ stepGraceMs: 20, observer: { [when]: hook }, ...options });
  return { s, reached: reached.promise, end: () => gate.resolve() };
}

const sandboxOf = (s: TestServer, id: string) => {
  const sandbox = s.server.engine.sandboxes.find(id as SandboxId);
  if (!sandbox) throw new Error("no sandbox");
  return sandbox;
};
const destroys = (s: TestServer) => s.world.faults.calls.filter((verb) => verb === "destroy").length;

test("a create whose step hangs gives its place back, and what the step makes later is removed", async () => {
  const { s, reached, end } = await hangingAt("after", "create create", {
    env: { BOXYARD_MAX_CREATES: "1", BOXYARD_MAX_QUEUED_CREATES: "0" },
  });
  await using _ = s;
  const gone = new AbortController();
  const asked = fetch(`${s.url}/sandboxes`, {
    method: "POST",
    headers: { "X-API-Key": s.apiKey },
    body: '{"templateID":"base"}',
    signal: gone.signal,
  }).catch(() => undefined);
  await reached;
  expect((await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status).toBe(429);
  gone.abort();
  await asked;
  await eventually(
    "another create has the place",
    async () => (await s.call("POST", "/v2/sandboxes", { templateID: "base" })).status === 201,
  );
  const before = destroys(s);
  end();
  await eventually("it is removed once more", () => destroys(s) === before + 1);
  expect(s.world.sandboxes.size).toBe(1);
});

test("a sandbox whose pause hangs can be removed", async () => {
  const { s, reached, end } = await hangingAt("before", "pause keep");
  await using _ = s;
  const { sandboxID: id } = await s.create();
  const paused = s.call("POST", `/sandboxes/${id}/pause`, {});
  await reached;
  expect((await s.call("DELETE", `/sandboxes/${id}`)).status).toBe(204);
  expect((await paused).status).toBe(409);
  expect(s.world.sandboxes.size).toBe(0);
  end();
  await eventually("it is removed once more", () => destroys(s) === 2);
});

test("nothing but its removal happens to a sandbox before the step has ended; then the sweep settles it", async () => {
  const { s, reached, end } = await hangingAt("after", "pause keep");
  await using _ = s;
  const { sandboxID: id } = await s.create();
  const sandbox = sandboxOf(s, id);
  const stop = new AbortController();
  const paused = s.server.engine.run(sandbox, pause, { memory: true }, { signal: stop.signal }).catch((error: unknown) => error);
  await reached;
  stop.abort(new AppError("deadline_exceeded", "too long"));
  expect(await paused).toMatchObject({ message: "too long" });
  for (let round = 0; round < 3; round++) await s.server.sweep.once();
  expect([sandbox.state, sandbox.stepsGivenUp]).toEqual(["pausing", 1]);
  expect((await s.call("POST", `/sandboxes/${id}/pause`, {})).status).toBe(409);
  end();
  await eventually("the step has ended", () => sandbox.stepsGivenUp === 0);
  await s.server.sweep.once();
  // The driver had kept it.
  expect(sandbox.state).toBe("paused");
  expect((await s.call("POST", `/sandboxes/${id}/resume`, {})).status).toBe(201);
});
