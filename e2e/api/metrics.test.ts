import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { usePlatform } from "../support/platform.ts";
import { createSandbox } from "../support/sandbox.ts";

const platform = usePlatform({ own: true });

interface Sample {
  readonly timestampUnix: number;
  readonly cpuUsedPct: number;
  readonly networkSentBytes: number;
}
interface Usage {
  readonly cpuSeconds: number;
  readonly runningSeconds: number;
  readonly networkSentBytes: number;
  readonly reason?: string;
}

const get = async <T>(path: string): Promise<T> => {
  const { status, body } = await platform().api({ path });
  expect([path, status]).toEqual([path, 200]);
  return body as T;
};
const samplesOf = (id: string) => get<Sample[]>(`/sandboxes/${id}/metrics`);
const usageOf = (id: string) => get<Usage>(`/sandboxes/${id}/usage`);

test("what a sandbox uses is counted over a pause with memory, a kill of the server and its end; a pause has no samples", async () => {
  await using sandbox = await createSandbox(platform());
  const spend = () => sandbox.client.commands.run('python3 -c "import time\nwhile time.process_time() < 1: pass"');
  await spend();
  // A megabyte to the gateway, where nobody listens: it is sent anyway.
  const send =
    "python3 -c \"import socket; s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM); [s.sendto(bytes(1000), ('1.1.1.1', 9)) for _ in range(1000)]\"";
  await sandbox.client.commands.run(send);
  await eventually("a sample has them", async () => (await samplesOf(sandbox.id)).some((one) => one.networkSentBytes > 1_000_000), {
    withinMs: 20_000,
  });
  expect((await platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/pause`, body: {} })).status).toBe(204);
  const paused = await usageOf(sandbox.id);
  expect([paused.cpuSeconds > 0.9, paused.networkSentBytes > 1_000_000]).toEqual([true, true]);
  expect((await usageOf(sandbox.id)).runningSeconds).toBe(paused.runningSeconds);
  await platform().kill9();
  await platform().restart();
  expect((await platform().api({ method: "POST", path: `/sandboxes/${sandbox.id}/connect`, body: { timeout: 300 } })).status).toBe(201);
  await spend();
  expect((await platform().api({ method: "DELETE", path: `/sandboxes/${sandbox.id}` })).status).toBe(204);
  const ended = await usageOf(sandbox.id);
  expect(ended).toMatchObject({ reason: "requested" });
  expect([ended.cpuSeconds > 1.8, ended.networkSentBytes >= 1_000_000]).toEqual([true, true]);
  const { days } = await get<{ days: Usage[] }>("/usage");
  expect(days).toHaveLength(1);
}, 120_000);

test("an idle sandbox has a sample every five seconds, and its team's metrics count it", async () => {
  await using sandbox = await createSandbox(platform());
  const samples = await eventually(
    "three samples",
    async () => {
      const some = await samplesOf(sandbox.id);
      return some.length > 2 && some;
    },
    { withinMs: 40_000 },
  );
  for (const [i, sample] of samples.entries())
    if (i > 0) expect(sample.timestampUnix - (samples[i - 1]?.timestampUnix ?? 0)).toBeLessThanOrEqual(8);
  const team = await get<{ concurrentSandboxes: number }[]>("/teams/default/metrics");
  expect(team.at(-1)?.concurrentSandboxes).toBeGreaterThan(0);
  expect((await get<{ value: number }>("/teams/default/metrics/max?metric=concurrent_sandboxes")).value).toBeGreaterThan(0);
}, 60_000);
