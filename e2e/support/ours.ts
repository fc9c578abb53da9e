import { readdirSync } from "node:fs";
import { join } from "node:path";
import type { Platform } from "@boxyard/testkit";

/** Ids of sandboxes that have a state or volume directory; an id with both is there twice. */
export function keptSandboxes(platform: Platform): string[] {
  return ["sandboxes", "pool/sandboxes"]
    .flatMap((directory) => readdirSync(join(platform.dataDir, directory)))
    .filter((name) => /^i[a-z0-9]{20}$/.test(name));
}

/** Descriptors that a process has open. */
export function openDescriptors(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}
