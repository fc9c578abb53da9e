import { readFileSync } from "node:fs";
import type { SandboxId } from "@boxyard/core";
import { cgroupOf, type LocalParts } from "../sandbox.ts";

const SIGKILL = "SIGKILL";

/**
 * Ends a CRIU that an earlier server started and that has seized processes of the sandbox, or is bringing them back, when they are about to be
 * ended: it would wait for them, and they for it.
 */
export function endTracers(parts: LocalParts, sandboxId: SandboxId): void {
  const { criu } = parts;
  const inside = cgroupOf(parts, sandboxId).processes();
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

/** Who traces a process, and whose child it is: until a restore is done, the sandbox's init is CRIU's. */
function holdersOf(pid: number): number[] {
  return [...read(`/proc/${pid}/status`).matchAll(/^(?:TracerPid|PPid):\s+(\d+)$/gm)].map((match) => Number(match[1]));
}

/** Not a debugger of somebody who looks after the machine. */
const isCriu = (pid: number, file: string): boolean => read(`/proc/${pid}/cmdline`).startsWith(`${file}\0`);

function read(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return "";
  }
}
