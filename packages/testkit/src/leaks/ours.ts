import { readFileSync } from "node:fs";
import { join } from "node:path";
import { readTestConfig } from "../config.ts";
import { eventually } from "../eventually.ts";
import { compareSnapshots, type Difference, isAbout } from "./compare.ts";
import { type Snapshot, takeSnapshot } from "./snapshot.ts";

/**
 * Differences to `before` that this platform causes: their lines name its data directory or its instance, or are about device nodes, which all
 * programs share. On a CI machine no other program works but the suite that makes the guest of pure cgroup v2, so all other differences count there.
 */
function ourDifferences(dataDir: string, before: Snapshot): Difference[] {
  const { instance } = JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string };
  const { ci, cacheDir } = readTestConfig();
  const ofGuest = join(cacheDir, "pure-v2");
  return compareSnapshots(before, takeSnapshot()).filter(
    ({ kind, what }) => (ci && !isAbout(what, ofGuest)) || kind === "devices" || isAbout(what, dataDir) || what.includes(instance),
  );
}

/** Differences that the platform on `dataDir` causes, once the kernel has had time to release what it releases later. */
export async function settledDifferences(dataDir: string, before: Snapshot): Promise<Difference[]> {
  let left: Difference[] = [];
  const settled = () => {
    left = ourDifferences(dataDir, before);
    return left.length === 0;
  };
  await eventually("no difference", settled, { withinMs: 30_000, everyMs: 100 }).catch(() => {}); // The caller shows what is left.
  return left;
}
