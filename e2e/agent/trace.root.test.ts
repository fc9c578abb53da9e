import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import type { AgentUnderTest } from "./support/agent-access.ts";
import { startAgent } from "./support/agent-under-test.ts";
import type { CallOptions } from "./support/rpc.ts";
import { shell, start } from "./support/run.ts";

let agent: AgentUnderTest;
beforeAll(async () => {
  agent = await startAgent();
});
afterAll(() => agent?.stop());

/** The end-of-stream envelope of a command. */
async function endOf(script: string, options: CallOptions = {}) {
  const envelopes = await Array.fromAsync((await start(agent, shell(script), options)).envelopes);
  return envelopes.at(-1)?.message;
}

const traced = { headers: { "Boxyard-Trace": "1" } };

describe("Boxyard-Trace", () => {
  test("returns, with the end of the stream, the time and the agent's CPU at each step of a command", async () => {
    const before = performance.timeOrigin + performance.now();
    const { metadata } = await endOf("echo x", traced);
    const marks = JSON.parse(metadata["boxyard-trace"][0]) as { name: string; at: number; cpuMs: number }[];
    const names = marks.map(({ name }) => name);
    // Output and exit come by two ways; on a busy machine either may be seen first.
    expect(names).toContain("output");
    expect(names.filter((name) => name !== "output")).toEqual([
      ...["received", "parsed", "prepared", "spawned", "started"],
      ...["exited", "drained", "told"],
    ]);
    const times = marks.map(({ at }) => at);
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    // Both clocks count from the start of their process, which is known to a millisecond.
    expect(times[0]).toBeGreaterThan(before - 1);
    expect(times.at(-1)).toBeLessThan(performance.timeOrigin + performance.now() + 1);
    expect((marks.at(-1)?.cpuMs ?? 0) - (marks[0]?.cpuMs ?? 0)).toBeGreaterThan(0);
  });

  test("comes with an error too", async () => {
    const end = await endOf("sleep 60", { ...traced, timeoutMs: 200 });
    expect(end.error.code).toBe("deadline_exceeded");
    expect(JSON.parse(end.metadata["boxyard-trace"][0]).map(({ name }: { name: string }) => name)).toContain("started");
  });

  test("is asked for, or there is none", async () => {
    expect(await endOf("true")).toEqual({});
  });
});
