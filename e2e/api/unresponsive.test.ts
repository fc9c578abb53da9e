import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform({ env: { BOXYARD_PROBE_SECONDS: "1" } });

test("an agent that is stopped is found; get, list and kill stay as quick as ever", async () => {
  await using sandbox = await createSandbox(platform());
  const get = async () => (await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { state: string; health?: string };
  expect((await get()).health).toBeUndefined();
  // In the background, because no answer comes once the agent is stopped.
  await sandbox.asRoot(`(sleep 0.5; kill -STOP $(pgrep -o -f '^/.boxyard/agent')) >/dev/null 2>&1 &`);
  await eventually("the sandbox is shown as unresponsive", async () => (await get()).health === "unresponsive", { withinMs: 60_000 });
  expect((await get()).state).toBe("running");
  expect((await platform().api({ path: "/v2/sandboxes" })).status).toBe(200);
  expect((await platform().api({ method: "DELETE", path: `/sandboxes/${sandbox.id}` })).status).toBe(204);
  expect((await platform().api({ path: `/sandboxes/${sandbox.id}` })).status).toBe(404);
}, 90_000);
