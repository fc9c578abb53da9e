import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStat } from "@boxyard/core/process-stat";
import { spreadDirectories } from "@boxyard/testkit";

/** `boxyard-tests-<pid>-<start>`: the start, in clock ticks since boot, distinguishes the process from a later one with the same pid. */
const NAME = /^boxyard-tests-(\d+)-(\d+)$/;

/**
 * Makes the temporary directory of one test run; every process of the run gets it as TMPDIR. The run removes it with all its content at the end. If
 * the run is killed, the next run removes it.
 */
export function makeTemporaryDirectory(parent = tmpdir(), pid = process.pid): string {
  const path = join(parent, `boxyard-tests-${pid}-${processStat(pid)?.startTicks}`);
  mkdirSync(path, { recursive: true, mode: 0o755 });
  spreadDirectories(path);
  return path;
}

/** Temporary directories of test runs that have ended. */
export function endedRuns(parent = tmpdir()): string[] {
  const ofEnded = readdirSync(parent).filter((name) => {
    const [, pid, start] = NAME.exec(name) ?? [];
    return pid !== undefined && String(processStat(Number(pid))?.startTicks) !== start;
  });
  return ofEnded.map((name) => join(parent, name));
}

/**
 * Removes the temporary directories of test runs that have ended. Returns their paths. A directory in which something is still mounted stays: a
 * server that outlived its run may use it.
 */
export function sweepTemporaryDirectories(parent = tmpdir(), mountPoints = mounted()): string[] {
  const old = endedRuns(parent).filter((path) => !mountPoints.some((point) => point.startsWith(`${path}/`)));
  for (const path of old) rmSync(path, { recursive: true, force: true });
  return old;
}

/** All mount points (proc(5), field 5 of `mountinfo`). */
function mounted(): string[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => line.split(" ")[4] ?? "");
}
