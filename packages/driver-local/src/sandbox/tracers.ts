import { readFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { isAlive } from "../runtime/process.ts";
import type { ProcessIdentity } from "../state/record.ts";
import { cgroupOf, type LocalParts } from "./parts.ts";

const SIGKILL = "SIGKILL";

/**
 * Ends a CRIU of an earlier server that has seized processes of the sandbox, or is restoring them. To be called before these processes are ended: CRIU
 * and they would wait for each other.
 */
export function endTracers(parts: LocalParts, sandboxId: SandboxId, init?: ProcessIdentity): void {
  const { criu } = parts;
  // CRIU seizes the init first, and is the parent of none that the record names: a restore writes the record when it is done.
  const inside = init && isAlive(init) ? [init.pid] : cgroupOf(parts, sandboxId).processes();
  const holders = new Set(inside.flatMap(holdersOf).filter((pid) => pid > 0 && !inside.includes(pid)));
  for (const pid of holders) {
    if (!criu || !isCriu(pid, criu.file)) continue;
    try {
      process.kill(pid, SIGKILL);
    } catch {
      // It has ended.
    }
  }
}

/** Pids of a process's tracer and parent. Until a restore is done, CRIU is the parent of the sandbox's init. */
function holdersOf(pid: number): number[] {
  return [...read(`/proc/${pid}/status`).matchAll(/^(?:TracerPid|PPid):\s+(\d+)$/gm)].map((match) => Number(match[1]));
}

/** Excludes other tracers, such as an administrator's debugger. */
const isCriu = (pid: number, file: string): boolean => read(`/proc/${pid}/cmdline`).startsWith(`${file}\0`);

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
