import { expect, test } from "bun:test";
import { systemClock } from "@boxyard/core";
import { eventually } from "@boxyard/testkit";
import { startProxy } from "./child.ts";
import type { ReplayMiss } from "./reports.ts";

/** Is ready and says the first part of a line, says the rest when it is told something, and ends with its input. */
const PROGRAM = 'printf "%s\\n%s" "$1" "$2"; read -r line; printf "%s\\n" "$3"; while read -r line; do :; done';

test("a sandbox cannot end the proxy by the longest request that a recording does not have", async () => {
  const miss = {
    type: "miss",
    address: "10.208.0.16",
    method: "M".repeat(32),
    url: "\\".repeat(2000),
    isPassed: false,
    isIncomplete: false,
  };
  const line = JSON.stringify(miss);
  // It comes in two parts, as a pipe gives it that is read while it is written.
  const command = ["/bin/sh", "-c", PROGRAM, "sh", '{"type":"ready"}', line.slice(0, -1), line.slice(-1)];
  const misses: ReplayMiss[] = [];
  const ends: string[] = [];
  const child = startProxy(command, {
    clock: systemClock,
    onEnd: (how) => ends.push(how),
    certificateFor: async () => undefined,
    reports: { onMiss: (one) => misses.push(one), onConnection() {}, onStopped() {} },
  });
  await child.ready;
  child.trust("");
  await eventually("the miss is reported", () => misses.length === 1 || ends.length > 0);
  expect([misses, child.isAlive, ends]).toEqual([
    [{ address: miss.address, method: miss.method, url: miss.url.slice(0, 512), isPassed: false, isIncomplete: false }],
    true,
    [],
  ]);
  await child.end();
});
