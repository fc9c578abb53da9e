import { describe, expect, test } from "bun:test";
import { checkMachineTime, REASONS, TAKERS } from "./machine-time.ts";

const PATH = "packages/server/src/some.ts";
const linesFor = (text: string, takers = {}, path = PATH) => checkMachineTime([{ path, text }], takers).map(({ line }) => line);

describe("the check of the machine's time", () => {
  test.each([
    "const now = Date.now();",
    "const timer = setTimeout(end, 5);",
    "setInterval(() => this.look(), 5);",
    "const limit = AbortSignal.timeout(5);",
    "const at = performance.now();",
    'import { setTimeout as sleep } from "node:timers/promises";',
    "await systemClock.sleep(5);",
  ])("finds %s", (line) => {
    expect(linesFor(`first\n${line}`)).toEqual([2]);
  });

  test.each([
    "// Date.now() would not do",
    " * `AbortSignal.timeout(5)`",
    "constructor(clock: Clock = systemClock) {",
    "  await sandboxes.setTimeout(teamId, id, 5);",
    "  setTimeout(teamId: TeamId, id: SandboxId, seconds: number) {",
    "let timer: ReturnType<typeof setTimeout> | undefined;",
  ])("lets %s pass", (line) => {
    expect(linesFor(line)).toEqual([]);
  });

  test("leaves tests and other packages alone", () => {
    for (const path of ["packages/server/src/a.test.ts", "packages/server/src/testing/a.ts", "packages/cli/src/a.ts"]) {
      expect([path, linesFor("Date.now();", {}, path)]).toEqual([path, []]);
    }
  });

  test("the table allows as many lines as it says, and says no more than there are", () => {
    const twice = "Date.now();\nDate.now();";
    expect(linesFor(twice, { [PATH]: ["kernel", 2] })).toEqual([]);
    expect(linesFor(twice, { [PATH]: ["kernel", 1] })).toEqual([1, 2]);
    expect(checkMachineTime([{ path: PATH, text: twice }], { [PATH]: ["kernel", 3] })).toMatchObject([
      { message: expect.stringContaining("in 2 lines, and not in 3") },
    ]);
    expect(checkMachineTime([], { [PATH]: ["kernel", 1] })).toHaveLength(1);
  });

  test("every reason is used", () => {
    expect(new Set(Object.values(TAKERS).map(([reason]) => reason))).toEqual(new Set(Object.keys(REASONS) as never[]));
  });
});
