import { describe, expect, test } from "bun:test";
import { assembleCommand, assembleCreate, type LoggedStep, OUTSIDE, summarizeRuns, WHOLE } from "./steps.ts";

const logged = (by: "driver" | "server", step: string, startedAt: number, ms: number, cpuMs = {}): LoggedStep => ({
  by,
  step,
  startedAt,
  ms,
  cpuMs,
});

describe("a create", () => {
  // Written when a step has ended, so the composed ones come after what they consist of.
  const log = [
    logged("server", "record", 101, 1, { server: 0.5 }),
    logged("driver", "create", 102, 7, { server: 1, children: 6, sandbox: 0.25, tracing: 0.25 }),
    logged("server", "create", 102, 8, { server: 1.5 }),
    logged("driver", "awaitAgent", 110, 9, { server: 0.5, children: 0, sandbox: 8 }),
    logged("server", "start", 110, 10, { server: 0.75 }),
    logged("server", "init", 120, 2, { server: 0.5 }),
  ];
  const steps = assembleCreate(
    log,
    { at: 100, cpuMs: { client: 10, server: 100, sandbox: 0 } },
    { at: 125, cpuMs: { client: 11, server: 104, sandbox: 10 } },
  );

  test("has its steps in the order they began, those that consist of others left out", () => {
    expect(steps.map(({ step }) => step)).toEqual(["server record", "driver create", "driver awaitAgent", "server init", OUTSIDE, WHOLE]);
  });

  test("counts every millisecond and the CPU time of each party once", () => {
    const parts = steps.slice(0, -1);
    const whole = steps.at(-1);
    expect(parts.reduce((sum, { ms }) => sum + ms, 0)).toBe(25);
    for (const who of ["client", "server", "children", "sandbox"]) {
      expect([who, parts.reduce((sum, { cpuMs }) => sum + (cpuMs[who] ?? 0), 0)]).toEqual([who, whole?.cpuMs[who] ?? 0]);
    }
    expect(whole?.cpuMs).toEqual({ client: 1, server: 3.5, children: 6, sandbox: 10, tracing: 0.5 });
  });

  test("counts the agent's work after the driver's last reading to init, and the server's work outside of its steps to the rest", () => {
    expect(steps.find(({ step }) => step === "server init")?.cpuMs).toEqual({ server: 0.5, sandbox: 1.75 });
    expect(steps.find(({ step }) => step === OUTSIDE)).toEqual({ step: OUTSIDE, ms: 6, cpuMs: { client: 1, server: 1 } });
  });
});

test("a command: the time from mark to mark, and the ways to the agent and back", () => {
  const marks = [
    { name: "received", at: 101, cpuMs: 50 },
    { name: "parsed", at: 101.5, cpuMs: 50.25 },
    { name: "exited", at: 103, cpuMs: 51 },
    { name: "strange", at: 103.5, cpuMs: 51.5 },
  ];
  const steps = assembleCommand(marks, { at: 100, cpuMs: { client: 1, agent: 50 } }, { at: 104, cpuMs: { client: 1.5, agent: 52 } });
  expect(steps).toEqual([
    { step: "SDK → proxy → agent", ms: 1, cpuMs: {} },
    { step: "agent: read and parse the request", ms: 0.5, cpuMs: { agent: 0.25 } },
    { step: "the command: to its exit", ms: 1.5, cpuMs: { agent: 0.75 } },
    { step: "strange", ms: 0.5, cpuMs: { agent: 0.5 } },
    { step: "agent → proxy → SDK", ms: 0.5, cpuMs: {} },
    { step: WHOLE, ms: 4, cpuMs: { client: 0.5, agent: 2 } },
  ]);
});

test("runs are summed up step by step, those with the most frequent order of steps", () => {
  const run = (ms: number, server: number) => [{ step: "a", ms, cpuMs: { server } }];
  const odd = [{ step: "b", ms: 100, cpuMs: {} }];
  const trace = summarizeRuns("x", { server: "the server" }, [odd, run(1, 0.1), run(3, 0.3), run(2, 0.2)]);
  expect(trace).toMatchObject({ runs: 3, of: 4, steps: [{ step: "a", time: { samples: 3, p50: 2 }, cpuMs: { server: 0.2 } }] });
});
