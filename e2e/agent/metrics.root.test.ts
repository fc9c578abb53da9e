import { expect, test } from "bun:test";
import { eventually } from "@boxyard/testkit";
import { type AgentUnderTest, authorised } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import { AGENT_PID, asRoot } from "./support/files.ts";
import { collect, readUntil, run, shell, start } from "./support/run.ts";

const MIB = 1024 * 1024;
const read = async (agent: AgentUnderTest) => {
  const response = await fetch(`${agent.baseUrl}/metrics`, { headers: authorised(agent) });
  expect([response.status, response.headers.get("cache-control")]).toEqual([200, "no-store"]);
  return response.json();
};

test("GET /metrics has the ten members, all numbers, of the sandbox's own limits", async () => {
  const limits = { cpuCount: 2, memoryBytes: 256 * MIB, diskBytes: 1000 * MIB };
  const agent = await startAgent({ limits, memoryBytes: 256 * MIB });
  try {
    const first = await read(agent);
    const names = [
      "cpu_count",
      "cpu_used_pct",
      "disk_total",
      "disk_used",
      "mem_cache",
      "mem_total",
      "mem_total_mib",
      "mem_used",
      "mem_used_mib",
      "ts",
    ];
    expect(Object.keys(first).sort()).toEqual(names);
    for (const name of names) expect(first[name]).toBeNumber();
    expect(Math.abs(first.ts - Date.now() / 1000)).toBeLessThan(30);
    expect([first.cpu_count, first.mem_total, first.mem_total_mib, first.disk_total]).toEqual([2, 256 * MIB, 256, 1000 * MIB]);
    // A busy loop for half a second on one of two cores; beside other programs it may get little of them.
    const busy = await eventually("the loop is seen", async () => {
      await run(agent, "timeout 0.5 sh -c 'while :; do :; done'");
      const sample = await read(agent);
      return Number(sample.cpu_used_pct) > 5 && sample;
    });
    expect(busy.cpu_used_pct).toBeLessThanOrEqual(100);
    const holder = `exec python3 -c 'x = bytearray(80 * 1024 * 1024); print("held", flush=True); import time; time.sleep(60)'`;
    const held = await start(agent, shell(holder));
    const { pid } = await readUntil(held, ({ stdout }) => stdout.includes("held"));
    const full = await read(agent);
    expect(full.mem_used - first.mem_used).toBeGreaterThan(70 * MIB);
    expect(full.mem_used).toBeLessThan(256 * MIB);
    expect(full.mem_used_mib).toBe(Math.floor(full.mem_used / MIB));
    await asRoot(agent, `kill -9 ${pid}`);
    await collect(held);
    // What a file takes in memory, here of a file system in memory, is cache and not use.
    await run(agent, "head -c 41943040 /dev/zero > /home/user/cached");
    const cached = await read(agent);
    expect(cached.mem_cache - first.mem_cache).toBeGreaterThanOrEqual(40 * MIB);
    expect(cached.mem_cache).toBeLessThanOrEqual(256 * MIB);
    // Of the disk, only what the driver has measured: nothing at first, and never what others use of the machine's.
    expect(first.disk_used).toBe(0);
    const tell = `${AGENT_PID}; d=$(tr '\\0' '\\n' < /proc/$pid/environ | sed -n 's/^BOXYARD_AGENT_HOST_DIR=//p'); printf '{"usedBytes":123456}' > $d/disk.json`;
    await asRoot(agent, tell);
    expect((await read(agent)).disk_used).toBe(123456);
  } finally {
    await agent.stop();
  }
}, 20_000);
