import { readdirSync } from "node:fs";
import { isSandboxId } from "@boxyard/core";
import { isAlive } from "../runtime/process.ts";
import { cgroupOf, type LocalParts } from "../sandbox.ts";
import { readRecord } from "../state/record.ts";
import type { Guarded } from "./guard.ts";

/** The sandboxes that run now, from their state files. */
export function runningSandboxes(parts: Pick<LocalParts, "paths" | "cgroups" | "clock">): Guarded[] {
  return readdirSync(parts.paths.sandboxes)
    .filter(isSandboxId)
    .flatMap((id) => {
      const record = readRecord(parts.paths.state(id));
      if (!record?.process || !isAlive(record.process)) return [];
      return [{ id, pid: record.process.pid, memoryBytes: record.resources.memoryBytes, kill: () => cgroupOf(parts, id).kill() }];
    });
}
