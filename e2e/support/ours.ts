import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { compareSnapshots, type Difference, type Platform, readTestConfig, type Snapshot, takeSnapshot } from "@boxyard/testkit";

/**
 * Differences to `before` that are this platform's: they carry its data folder or its instance, or concern device nodes, which are everybody's.
 * On a CI machine nobody else works, so there all count.
 */
export function ourDifferences(dataDir: string, before: Snapshot): Difference[] {
  const { instance } = JSON.parse(readFileSync(join(dataDir, "instance.json"), "utf8")) as { instance: string };
  const { ci } = readTestConfig();
  return compareSnapshots(before, takeSnapshot()).filter(
    ({ kind, what }) => ci || kind === "devices" || what.includes(dataDir) || what.includes(instance),
  );
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
