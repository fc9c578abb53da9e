import { upperOf } from "../rootfs/upper.ts";
import type { LocalSandboxRecord } from "../state/record.ts";
import { runCommand } from "../sys/run.ts";

/** A sandbox can make files by the million, and nobody can kill it while they are counted. */
const LONGEST_MS = 3_000;

/**
 * Bytes that a kept disk holds above its layers. `chargedBytes`: what was written to the volume, and what it began with. Of a copy that has
 * changed what it began with this counts twice what is there once, and more often with each generation: there the files are counted.
 */
export async function diskUseOf(disk: string, { diskBaseBytes = 0 }: LocalSandboxRecord, chargedBytes: number): Promise<number> {
  if (diskBaseBytes === 0) return chargedBytes;
  try {
    const signal = AbortSignal.timeout(LONGEST_MS);
    const text = await runCommand(["du", "--summarize", "--one-file-system", "--block-size=1", upperOf(disk)], { signal });
    return Math.min(chargedBytes, Number.parseInt(text, 10));
  } catch {
    // It holds no more than that.
    return chargedBytes;
  }
}
