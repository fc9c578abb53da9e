import { readdirSync } from "node:fs";
import { isSandboxId, type SandboxId } from "@boxyard/core";
import { readSystemUsec } from "../cgroup/stats.ts";
import type { Guarded } from "../guard/guard.ts";
import { isAlive } from "../runtime/process.ts";
import { noteEnding, readRecord } from "../state/record.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";

type Parts = Pick<LocalParts, "paths" | "cgroups" | "clock" | "turns">;

/** The sandboxes that run now, from their state files. */
export function runningSandboxes(parts: Parts): Guarded[] {
  return readdirSync(parts.paths.sandboxes)
    .filter(isSandboxId)
    .flatMap((id) => {
      const record = readRecord(parts.paths.state(id));
      if (!record?.process || !isAlive(record.process)) return [];
      const cgroup = cgroupOf(parts, id);
      return [
        {
          ...{ id, pid: record.process.pid, memoryBytes: record.resources.memoryBytes },
          kill: () => cgroup.kill(),
          systemUsec: () => readSystemUsec(cgroup),
          onTrial: (isCause) => onTrial(parts, id, isCause),
        },
      ];
    });
}

/** In the sandbox's turn, so that no pause begins or ends meanwhile. What a server that is killed leaves frozen, the next one thaws. */
function onTrial(parts: Parts, id: SandboxId, isCause: () => Promise<boolean>): Promise<boolean | undefined> {
  return parts.turns.run(id, async () => {
    const path = parts.paths.state(id);
    const record = readRecord(path);
    const cgroup = cgroupOf(parts, id);
    if (!record?.process || !isAlive(record.process) || cgroup.isFreezeRequested()) return undefined;
    try {
      await cgroup.freeze(true);
      if (!(await isCause())) return false;
      await noteEnding(path, record, "uncounted_memory");
      cgroup.kill();
      return true;
    } finally {
      cgroup.beginThaw();
    }
  });
}
