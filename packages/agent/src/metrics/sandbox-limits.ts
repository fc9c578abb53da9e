import { join } from "node:path";
import { readSystemFile } from "../access/system-file.ts";
import type { SandboxLimits } from "../contracts.ts";

const MAX_BYTES = 64 * 1024;

/** Reads a JSON object of numbers from a file of the driver in `hostDir`. Other members are left out; a missing file is the empty object. */
function readNumbers(hostDir: string, file: string): Record<string, number> {
  try {
    const value = JSON.parse(readSystemFile(join(hostDir, file), MAX_BYTES) ?? "{}") as Record<string, unknown>;
    return Object.fromEntries(
      Object.entries(value).filter((entry): entry is [string, number] => typeof entry[1] === "number" && entry[1] >= 0),
    );
  } catch {
    return {};
  }
}

/** The sandbox's limits, which the driver sets before the start. */
export function readLimits(hostDir: string): SandboxLimits {
  return readNumbers(hostDir, "limits.json");
}

/** Bytes that the sandbox uses on its disk, as the driver last measured; undefined before the first measurement. */
export function readDiskUsed(hostDir: string): number | undefined {
  return readNumbers(hostDir, "disk.json").usedBytes;
}
