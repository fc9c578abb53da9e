import { expect, setDefaultTimeout, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, runProgram } from "@boxyard/testkit";

interface Row {
  readonly step: string;
  readonly time: { readonly p50: number };
  readonly cpuMs: Readonly<Record<string, number>>;
}
interface Trace {
  readonly what: string;
  readonly steps: readonly Row[];
}

const bench = async (...args: string[]) => {
  const ended = await runProgram(["./boxyard", "bench", ...args], { cwd: CHECKOUT, env: process.env });
  expect(ended).toMatchObject({ exitCode: 0, stderr: "" });
  return ended.stdout;
};
const cpu = ({ cpuMs }: Row) => Object.values(cpuMs).reduce((sum, ms) => sum + ms, 0);

// Each of them starts a server of its own.
setDefaultTimeout(60_000);

test("bench --trace shows each step of a create and of commands with its time and CPU", async () => {
  const { traces } = JSON.parse(await bench("--trace", "--json", "--count", "4")) as { traces: Record<string, Trace[]> };
  const [create] = traces["create-cold"] ?? [];
  expect(create?.steps.map(({ step }) => step)).toEqual([
    // The create is an operation, in whose step the sandbox is made: both write their intent and their result.
    ...["intent", "make", "intent"].map((step) => `server ${step}`),
    ...["rootfs", "cgroup", "bundle", "create", "limits", "network", "start", "awaitAgent"].map((step) => `driver ${step}`),
    ...["init", "startCommand", "result", "result"].map((step) => `server ${step}`),
    "outside of these: SDK, HTTP, gaps",
    "the whole",
  ]);
  const whole = create?.steps.at(-1) as Row;
  for (const who of ["client", "server", "children", "sandbox"]) expect([who, (whole.cpuMs[who] ?? 0) > 0]).toEqual([who, true]);
  expect(create?.steps.filter(({ step }) => step === "driver create" || step === "driver awaitAgent").every((row) => cpu(row) > 0)).toBe(
    true,
  );

  const [shell, direct, output, late, first] = traces.command ?? [];
  for (const trace of [shell, direct, output, late, first]) {
    const steps = trace?.steps.map(({ step }) => step) ?? [];
    expect(steps[0]).toBe("SDK → proxy → agent");
    for (const step of ["agent: hand the order to launch", "launch: the command runs", "the command: to its exit", "agent: tell the end"]) {
      expect(steps).toContain(step);
    }
    const all = trace?.steps.at(-1) as Row;
    for (const who of ["client", "server", "agent", "command"]) expect([who, (all.cpuMs[who] ?? 0) > 0]).toEqual([who, true]);
  }
  expect(output?.steps.map(({ step }) => step)).toContain("the command: first output");
});

test("bench --list names every promise", async () => {
  const lines = (await bench("--list")).trim().split("\n");
  const promises = new Set(lines.flatMap((line) => /promise (\d+(?:, \d+)*)/.exec(line)?.[1]?.split(", ").map(Number) ?? []));
  const specified = readFileSync(join(CHECKOUT, "SPECIFICATION.md"), "utf8")
    .match(/^\| \d+ (?=\|)/gm)
    ?.map((cell) => Number(cell.slice(2)));
  expect([...promises].sort((a, b) => a - b)).toEqual(specified ?? []);
  expect(lines.find((line) => /promise 1 /.test(line))).toStartWith("create-warm ");
});
