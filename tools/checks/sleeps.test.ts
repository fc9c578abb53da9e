import { expect, test } from "bun:test";
import { checkSleeps, isTestCode } from "./sleeps.ts";

const linesOf = (text: string) => checkSleeps({ path: "a.test.ts", text }).map(({ line }) => line);

test("finds waits for a fixed time, of every kind", () => {
  expect(linesOf("  await Bun.sleep(50);")).toEqual([1]);
  expect(linesOf("x\n  await sleep(LIMIT_MS);")).toEqual([2]);
  expect(linesOf("  await new Promise((resolve) => setTimeout(resolve, 5));")).toEqual([1]);
});

test("accepts the pause of a loop, in one line or anywhere in its body", () => {
  expect(linesOf("  while (!isReady()) await Bun.sleep(5);")).toEqual([]);
  expect(linesOf("  for (;;) {\n    if (ready) {\n      return;\n    }\n    await Bun.sleep(5);\n  }")).toEqual([]);
  expect(linesOf("  for (;;) {\n    look();\n  }\n  await Bun.sleep(5);")).toEqual([4]);
});

test("accepts a wait with a reason, and code that only looks like a wait", () => {
  expect(linesOf("  // Time alone: the kernel counts once a second.\n  await Bun.sleep(1100);")).toEqual([]);
  expect(linesOf("  await Bun.sleep(1100); // Time alone: as above.")).toEqual([]);
  expect(linesOf("  await Bun.sleep(0);\n  await clock.sleep(5);\n  time.sleep(5)\n  commands.run('sleep 60')")).toEqual([]);
});

test("finds waits in shell commands, except pauses of loops and sleeps that no test waits for", () => {
  expect(linesOf('  run("(sleep 0.5; kill -STOP 1) &");')).toEqual([1]);
  expect(linesOf('  run("while :; do look; done; sleep 2 && go");')).toEqual([1]);
  expect(linesOf('  // Time alone: its client leaves meanwhile.\n  run("sleep .2; echo late");')).toEqual([]);
  expect(linesOf('  run("until [ -e go ]; do sleep 0.1; done; echo on");\n  run("for i in 1 2; do sleep 0.1; echo $i; done");')).toEqual(
    [],
  );
  expect(linesOf('  run("sleep 100; echo never");\n  run("sleep 1000");')).toEqual([]);
});

test("accepts the deadline of a wait for something else", () => {
  expect(linesOf("  await Promise.race([ended, Bun.sleep(500)]);\n  const late = Bun.sleep(5).then(() => fail());")).toEqual([]);
});

test("checks tests and the code that they share", () => {
  const paths = ["packages/a/src/b.test.ts", "e2e/support/c.ts", "packages/a/src/testing/d.ts", "packages/a/src/b.ts"];
  expect(paths.map(isTestCode)).toEqual([true, true, true, false]);
});
