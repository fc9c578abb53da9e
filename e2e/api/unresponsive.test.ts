import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
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

test("a pause of a sandbox whose agent stands still fails with the reason, and the sandbox and its next pause go on with the agent", async () => {
  await using sandbox = await createSandbox(platform());
  const count = "n=0; while n=$((n+1)); do echo $n > /tmp/new; mv /tmp/new /tmp/count; sleep 0.05; done";
  await (await sandbox.client.commands.run(count, { background: true, timeoutMs: 0 })).disconnect();
  const counted = async () => Number((await sandbox.asRoot("cat /tmp/count")).stdout);
  await eventually("it counts", async () => (await counted()) > 0);
  const { agent, user } = processesOf(sandbox.id);
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

/** The agent of a sandbox as the machine numbers it, and the cgroup of its commands. */
function processesOf(id: string): { agent: number; user: string } {
  const { instance } = JSON.parse(readFileSync(join(platform().dataDir, "instance.json"), "utf8")) as { instance: string };
  const tops = ["/sys/fs/cgroup/unified", "/sys/fs/cgroup"].map((at) => join(at, `boxyard-${instance}`, id));
  const top = tops.find((at) => existsSync(join(at, "cgroup.procs"))) as string;
  const groups = [top, ...readdirSync(top).map((name) => join(top, name))].filter((at) => existsSync(join(at, "cgroup.procs")));
  const pids = groups.flatMap((at) => readFileSync(join(at, "cgroup.procs"), "utf8").split("\n").filter(Boolean).map(Number));
  const agent = pids.find((pid) => readFileSync(`/proc/${pid}/cmdline`, "utf8").startsWith("/.boxyard/agent"));
  if (agent === undefined) throw new Error(`${id} has no agent`);
  return { agent, user: join(top, "user") };
}
