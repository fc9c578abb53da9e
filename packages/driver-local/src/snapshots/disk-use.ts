import { upperOf } from "../rootfs/upper.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import { runCommand } from "../sys/run.ts";

/** A sandbox can have millions of files, and it cannot be killed while they are counted. */
const LONGEST_MS = 3_000;

/**
 * Bytes that a kept disk holds above its layers. `chargedBytes` is what was written to the volume plus what the volume began with. For a volume that
 * began as a copy and changed what it began with, that sum counts changed data twice, and once more with each generation: then the sizes of its files
 * are added up instead.
 */
export async function diskUseOf(disk: string, { diskBaseBytes = 0 }: LocalSandboxRecord, chargedBytes: number): Promise<number> {
  if (diskBaseBytes === 0) return chargedBytes;
  try {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const text = await runCommand(["du", "--summarize", "--one-file-system", "--block-size=1", upperOf(disk)], { signal });
    return Math.min(chargedBytes, Number.parseInt(text, 10));
  } catch {
    // An upper bound of what it holds.
    return chargedBytes;
  }
}
