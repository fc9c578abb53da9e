import { describe, expect, test } from "bun:test";
import { Cleanup } from "./cleanup.ts";
import { FakeClock } from "./clock.ts";
import { type GivenUp, runSteps, type Step, type StepEvent, used } from "./steps.ts";

interface Log {
  readonly lines: string[];
}

const step = (name: string, deed: (signal: AbortSignal) => Promise<void> | void = () => {}): Step<Log> => ({
  name,
  async run({ lines }, undo, signal) {
    undo.add(name, () => void lines.push(`undo ${name}`));
    await deed(signal);
    lines.push(name);
  },
});
const never = new AbortController().signal;
const no = () => {
  throw new Error("no");
};

describe("steps", () => {
  test("run in order, and leave their undo to the caller when all is done", async () => {
    const log = { lines: [] as string[] };
    const undo = new Cleanup();
    await runSteps([step("a"), step("b")], log, undo, never);
    expect(log.lines).toEqual(["a", "b"]);
    await undo.run();
    expect(log.lines).toEqual(["a", "b", "undo b", "undo a"]);
  });

  test("are undone in reverse when one fails, that one too, and none comes after it", async () => {
    const log = { lines: [] as string[] };
    await expect(runSteps([step("a"), step("b", no), step("c")], log, new Cleanup(), never)).rejects.toThrow("no");
    expect(log.lines).toEqual(["a", "undo b", "undo a"]);
  });

  test.each(["before", "after"] as const)("are undone when an observer fails %s one", async (when) => {
    const log = { lines: [] as string[] };
    const observer = { [when]: (name: string) => (name === "b" ? no() : undefined) };
    await expect(runSteps([step("a"), step("b"), step("c")], log, new Cleanup(), never, observer)).rejects.toThrow("no");
    expect(log.lines).toEqual(when === "before" ? ["a", "undo a"] : ["a", "b", "undo b", "undo a"]);
  });

  test("give their signal to an observer, so that one that holds them can let them go when they are aborted", async () => {
    const signals: (AbortSignal | undefined)[] = [];
    const see = (_name: string, signal?: AbortSignal) => void signals.push(signal);
    await runSteps([step("a")], { lines: [] }, new Cleanup(), never, { before: see, after: see });
    expect(signals).toEqual([never, never]);
  });

  test("are undone when their signal aborts between two of them", async () => {
    const log = { lines: [] as string[] };
    const stop = new AbortController();
    const steps = [step("a", () => stop.abort(new Error("stopped"))), step("b")];
    await expect(runSteps(steps, log, new Cleanup(), stop.signal)).rejects.toThrow("stopped");
    expect(log.lines).toEqual(["a", "undo a"]);
  });

  test("report the name, the error and the use of each step", async () => {
    const events: StepEvent[] = [];
    let spent = 0;
    const observer = { meter: () => ({ server: spent }), onStep: (event: StepEvent) => void events.push(event) };
    const spending = step("a", () => {
      spent += 5;
    });
    await runSteps([spending, step("b", no)], { lines: [] }, new Cleanup(), never, observer).catch(() => {});
    expect(events).toMatchObject([
      { name: "a", cpuMs: { server: 5 } },
      { name: "b", cpuMs: { server: 0 }, error: expect.any(Error) },
    ]);
    expect(used({ a: 1 }, { a: 3, b: 2 })).toEqual({ a: 2, b: 2 });
  });
});

describe("a step that goes on after the abort", () => {
  /** Steps `a` and `b`, of which `b` ends when it is told to; after that it registers one more undo action. */
  function hanging() {
    const log = { lines: [] as string[] };
    const [clock, stop, undo] = [new FakeClock(), new AbortController(), new Cleanup()];
    const end = Promise.withResolvers<void>();
    const late: Step<Log> = {
      name: "b",
      async run({ lines }, own) {
        own.add("b", () => void lines.push("undo b"));
        await end.promise.finally(() => own.add("late", () => void lines.push("undo late")));
        lines.push("b");
      },
    };
    const given: GivenUp[] = [];
    const patience = { clock, graceMs: 1_000, onGivenUp: (step: GivenUp) => void given.push(step) };
    const result = runSteps([step("a"), late, step("c")], log, undo, stop.signal, {}, patience);
    result.catch(() => {});
    return { log, clock, stop, end, given, undo, result };
  }

  test("is given up after the time for it: what was done is undone, and again what the step did later", async () => {
    const { log, clock, stop, end, given, result } = hanging();
    await Bun.sleep(0);
    stop.abort(new Error("too late"));
    await clock.advance(999);
    expect([log.lines, given.length]).toEqual([["a"], 0]);
    await clock.advance(1);
    await expect(result).rejects.toThrow("too late");
    expect([log.lines, given.map(({ name }) => name)]).toEqual([["a", "undo b", "undo a"], ["b"]]);
    end.resolve();
    expect(await given[0]?.ended).toBeUndefined();
    await given[0]?.undoAgain();
    expect(log.lines.slice(3)).toEqual(["b", "undo late", "undo b"]);
  });

  test("gives its error when it fails in the end", async () => {
    const { clock, stop, end, given, result } = hanging();
    await Bun.sleep(0);
    stop.abort(new Error("too late"));
    await clock.advance(1_000);
    await expect(result).rejects.toThrow("too late");
    end.reject(new Error("broken"));
    expect(String(await given[0]?.ended)).toContain("broken");
  });

  test("is waited for as long as the time for it has not passed", async () => {
    const { log, stop, end, given, result } = hanging();
    await Bun.sleep(0);
    stop.abort(new Error("stopped"));
    end.resolve();
    await expect(result).rejects.toThrow("stopped");
    expect([log.lines, given]).toEqual([["a", "b", "undo late", "undo b", "undo a"], []]);
  });

  test("does not hold the caller by undo actions that hang too", async () => {
    const { clock, stop, undo, given, result } = hanging();
    undo.add("hangs", () => new Promise(() => {}));
    await Bun.sleep(0);
    stop.abort(new Error("too late"));
    await clock.advance(1_000);
    await Bun.sleep(0);
    expect(given.length).toBe(1);
    await clock.advance(1_000);
    await expect(result).rejects.toThrow("too late");
  });
});

describe("a clean-up", () => {
  test("tries every entry, last first, and tells which failed", async () => {
    const lines: string[] = [];
    const undo = new Cleanup((name, error) => void lines.push(`${name} failed: ${(error as Error).message}`));
    undo.add("a", () => void lines.push("a"));
    undo.add("b", no);
    undo.add("c", async () => void lines.push("c"));
    await undo.run();
    await undo.run();
    expect(lines).toEqual(["c", "b failed: no", "a"]);
  });

  test("forgets its entries when the deed is done", async () => {
    const lines: string[] = [];
    const undo = new Cleanup();
    undo.add("a", () => void lines.push("a"));
    undo.disarm();
    await undo.run();
    expect(lines).toEqual([]);
  });
});
