import { expect, test } from "bun:test";
import type { SandboxId } from "@boxyard/core";
import { storeFault } from "../../store/index.ts";
import { TestServer } from "../../testing/test-server.ts";

test("after a write whose answer was lost, the next write takes place", async () => {
  await using s = await TestServer.start();
  const { store } = s.server.context;
  const { sandboxID } = await s.create();
  const { updateSandbox } = store;
  let lost = 0;
  store.updateSandbox = async (...args) => {
    const done = await updateSandbox.apply(store, args);
    if (args[2].state !== "killing") return done;
    lost++;
    throw storeFault(Object.assign(new Error("no answer"), { code: "08006" }));
  };
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
  expect(lost).toBe(1);
  expect((await store.getSandbox(sandboxID as SandboxId))?.state).toBe("dead");
});
