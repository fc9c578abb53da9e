import { afterEach, beforeEach, expect, test } from "bun:test";
import { TestServer } from "../../testing/test-server.ts";
import { MISSES } from "./liveness.ts";

// No round of its own: the tests make them.
const never = { BOXYARD_PROBE_SECONDS: "0" };
let s: TestServer;
beforeEach(async () => {
  s = await TestServer.start({ env: never, agentLimitMs: 500 });
});
afterEach(() => s[Symbol.asyncDispose]());

async function rounds(server: TestServer, count: number): Promise<void> {
  for (let i = 0; i < count; i++) await server.server.liveness.once();
}

const healthOf = async (id: string) => (await s.call("GET", `/sandboxes/${id}`)).body.health;

test("an agent that hangs is shown after three questions, kill still works, and one that answers again is shown no more", async () => {
  const { sandboxID } = await s.create();
  const agent = s.world.sandboxes.get(sandboxID)?.agent;
  await rounds(s, MISSES);
  expect(await healthOf(sandboxID)).toBeUndefined();
  agent?.freeze();
  await rounds(s, MISSES - 1);
  expect(await healthOf(sandboxID)).toBeUndefined();
  await rounds(s, 1);
  expect(await healthOf(sandboxID)).toBe("unresponsive");
  const { logEntries } = (await s.call("GET", `/sandboxes/${sandboxID}/logs`)).body;
  expect(logEntries.at(-1)).toMatchObject({ level: "error", fields: { event: "unresponsive" } });
  agent?.thaw();
  await rounds(s, 1);
  expect(await healthOf(sandboxID)).toBeUndefined();
  agent?.freeze();
  await rounds(s, MISSES);
  expect((await s.call("DELETE", `/sandboxes/${sandboxID}`)).status).toBe(204);
});

test("answers that went through the proxy are a sign of life: the agent is not asked", async () => {
  const { sandboxID, envdAccessToken } = await s.create();
  const agent = s.world.sandboxes.get(sandboxID)?.agent;
  const headers = { "Svc-Sandbox-Id": sandboxID, "Svc-Sandbox-Port": "49983", "X-Access-Token": envdAccessToken };
  for (let round = 0; round < MISSES + 1; round++) {
    expect((await fetch(`${s.url}/metrics`, { headers })).status).toBe(200);
    agent?.freeze();
    await rounds(s, 1);
    agent?.thaw();
  }
  expect(await healthOf(sandboxID)).toBeUndefined();
});

test("with the policy kill the sandbox is removed", async () => {
  await using strict = await TestServer.start({ env: { ...never, BOXYARD_ON_UNRESPONSIVE: "kill" }, agentLimitMs: 500 });
  const { sandboxID } = await strict.create();
  strict.world.sandboxes.get(sandboxID)?.agent?.freeze();
  await rounds(strict, MISSES);
  expect((await strict.call("GET", `/sandboxes/${sandboxID}`)).status).toBe(404);
  expect(strict.world.sandboxes.size).toBe(0);
});
