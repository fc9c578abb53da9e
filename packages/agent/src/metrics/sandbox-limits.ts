import { join } from "node:path";
import { readSystemFile } from "../access/system-file.ts";
import type { SandboxLimits } from "../contracts.ts";

const MAX_BYTES = 64 * 1024;

/** A JSON object of numbers that the driver keeps in `hostDir`; what is missing or no number is left out. */
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

/** The sandbox's limits as the driver set them; they don't change while it runs. */
export function readLimits(hostDir: string): SandboxLimits {
  return readNumbers(hostDir, "limits.json");
}

/** What the sandbox has written to its disk, as the driver last measured it. */
export function readDiskUsed(hostDir: string): number | undefined {
  return readNumbers(hostDir, "disk.json").usedBytes;
}
