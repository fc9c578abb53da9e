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
 * Removes the temporary directories of test runs that have ended, and the network namespaces that are kept in them. Returns their paths. A directory in
 * which something else is still mounted stays: a server that outlived its run may use it.
 */
export function sweepTemporaryDirectories(parent = tmpdir(), readMounts = mounts): string[] {
  const ended = endedRuns(parent);
  const isInside = ({ point }: Mount, path: string) => point.startsWith(`${path}/`);
  for (const mount of readMounts())
    if (mount.kind === "nsfs" && ended.some((path) => isInside(mount, path))) Bun.spawnSync(["umount", mount.point]);
  const left = readMounts();
  const old = ended.filter((path) => !left.some((mount) => isInside(mount, path)));
  for (const path of old) rmSync(path, { recursive: true, force: true });
  return old;
}

interface Mount {
  readonly point: string;
  readonly kind: string;
}

/** All mounts (proc(5), `mountinfo`: field 5, and the first one after the dash). */
function mounts(): Mount[] {
  return readFileSync("/proc/self/mountinfo", "utf8")
    .split("\n")
    .map((line) => {
      const fields = line.split(" ");
      return { point: fields[4] ?? "", kind: fields[fields.indexOf("-") + 1] ?? "" };
    });
}
