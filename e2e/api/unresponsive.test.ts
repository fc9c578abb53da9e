import { expect, test } from "bun:test";
import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { eventually } from "@boxyard/testkit";
import { processesOf } from "../support/agent-process.ts";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform({ env: { BOXYARD_PROBE_SECONDS: "1" } });

test("a stopped agent is noticed; get, list and kill of its sandbox still work", async () => {
  await using sandbox = await createSandbox(platform());
  const get = async () => (await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { state: string; health?: string };
  expect((await get()).health).toBeUndefined();
  process.kill(processesOf(platform(), sandbox.id).agent, "SIGSTOP");
  await eventually("the sandbox is shown as unresponsive", async () => (await get()).health === "unresponsive", { withinMs: 60_000 });
  expect((await get()).state).toBe("running");
  expect((await platform().api({ path: "/v2/sandboxes" })).status).toBe(200);
  expect((await platform().api({ method: "DELETE", path: `/sandboxes/${sandbox.id}` })).status).toBe(204);
  expect((await platform().api({ path: `/sandboxes/${sandbox.id}` })).status).toBe(404);
}, 90_000);

test("a pause of a sandbox whose agent stands still fails with the reason, and the sandbox and its next pause go on with the agent", async () => {
  await using sandbox = await createSandbox(platform());
  const count = "n=0; while n=$((n+1)); do echo $n > /tmp/new; mv /tmp/new /tmp/count; sleep 0.05; done";
  await (await sandbox.client.commands.run(count, { background: true, timeoutMs: 0 })).disconnect();
  const counted = async () => Number((await sandbox.asRoot("cat /tmp/count")).stdout);
  await eventually("it counts", async () => (await counted()) > 0);
  const { agent, user } = processesOf(platform(), sandbox.id);
  process.kill(agent, "SIGSTOP");
  try {
    const { status, body } = await platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/pause`, body: {} });
    expect([status, (body as { message: string }).message]).toEqual([503, expect.stringContaining("agent does not answer")]);
    expect(((await platform().api({ path: `/sandboxes/${sandbox.id}` })).body as { state: string }).state).toBe("running");
    expect(readFileSync(join(user, "cgroup.freeze"), "utf8")).toBe("0\n");
    expect(existsSync(join(platform().dataDir, "pool/generations", sandbox.id))).toBe(false);
  } finally {
    process.kill(agent, "SIGCONT");
  }
  const seen = await counted();
  // Also when it reads only now that it should have stopped its commands.
  await eventually("it counts on", async () => (await counted()) > seen);
  expect(await sandbox.client.pause()).toBe(true);
  await sandbox.client.connect();
  const kept = await counted();
  await eventually("it counts on", async () => (await counted()) > kept);
}, 60_000);
