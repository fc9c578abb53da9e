import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import {
  compareSnapshots,
  type Difference,
  eventually,
  type Platform,
  readTestConfig,
  type Snapshot,
  takeSnapshot,
} from "@boxyard/testkit";

/**
 * Differences to `before` that are this platform's: they carry its data folder or its instance, or concern device nodes, which are everybody's.
 * On a CI machine nobody else works, so there all count.
 */
export function ourDifferences(dataDir: string, before: Snapshot): Difference[] {
  const { instance } = JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string };
  const { ci } = readTestConfig();
  return compareSnapshots(withoutNumbers(before), withoutNumbers(takeSnapshot())).filter(
    ({ kind, what }) => ci || kind === "devices" || what.includes(dataDir) || what.includes(instance),
  );
}

/**
 * The driver keeps a few spare groups, each with a child of the server in it, and makes a new one for each it has used. Their numbers differ from
 * one look to the next; how many there are may not.
 */
function withoutNumbers(snapshot: Snapshot): Snapshot {
  return {
    ...snapshot,
    cgroups: snapshot.cgroups.map((path) => path.replace(/\/spare-\d+-\d+$/, "/spare")),
    processes: snapshot.processes.map((line) => (line.endsWith("packages/server/src/main.ts serve") ? "a child of the server" : line)),
  };
}

/** What is different once the kernel has had time to take back what it takes back later. */
export async function settledDifferences(dataDir: string, before: Snapshot): Promise<Difference[]> {
  const settled = () => ourDifferences(dataDir, before).length === 0;
  await eventually("no difference", settled, { withinMs: 10_000, everyMs: 200 }).catch(() => {}); // The caller shows what is left.
  return ourDifferences(dataDir, before);
}

/** Sandboxes of which the driver has kept anything. */
export function keptSandboxes(platform: Platform): string[] {
  return ["sandboxes", "pool/sandboxes"]
    .flatMap((folder) => readdirSync(join(platform.dataDir, folder)))
    .filter((name) => /^i[a-z0-9]{20}$/.test(name));
}

/** Descriptors that a process has open. */
export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
