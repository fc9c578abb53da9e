import { expect, test } from "bun:test";
import { parseStat, processStat } from "./process-stat.ts";

test("a name with blanks and brackets does not move the fields", () => {
  const text = "42 (a) R 7 (b) S 41 42 42 0 -1 4194560 1 0 0 0 30 12 0 0 20 0 1 0 987654 1 2\n";
  expect(parseStat(text)).toEqual({ state: "S", parentPid: 41, startTicks: 987654 });
});

test("reads the line of this process", () => {
  const stat = processStat("self");
  expect(stat).toEqual({
    parentPid: process.ppid,
    startTicks: processStat(process.pid)?.startTicks,
    state: expect.any(String),
  } as typeof stat);
});

test("a zombie and an unknown pid are undefined", async () => {
  // The shell does not wait for its child, which has ended when it says so.
  const shell = Bun.spawn(["sh", "-c", "sh -c 'echo $$' & exec sleep 60"], { stdout: "pipe" });
  const { value } = await shell.stdout.getReader().read();
  const pid = Number(new TextDecoder().decode(value));
  for (const until = Date.now() + 10_000; processStat(pid) && Date.now() < until; ) await Bun.sleep(5);
  expect(processStat(pid)).toBeUndefined();
  shell.kill();
  await shell.exited;
  expect(processStat(2 ** 22 + 1)).toBeUndefined();
});
