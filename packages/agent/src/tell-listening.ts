import { closeSync, openSync } from "node:fs";

/**
 * Tells the driver that the agent listens: by opening the directory of the driver's facts, which the driver watches for that from outside. Without
 * such a directory (a pod, a test) nobody waits for it.
 */
export function tellListening(hostDir: string): void {
  try {
    closeSync(openSync(hostDir, "r"));
  } catch {
    // The driver looks by itself too, only later.
  }
}
