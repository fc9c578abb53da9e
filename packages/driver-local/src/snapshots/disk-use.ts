import { upperOf } from "../rootfs/upper.ts";
import type { SandboxRecord } from "../state/record.ts";
import { runCommand } from "../sys/run.ts";

/**
 * Bytes that a kept disk holds above its layers. `chargedBytes`: what was written to the volume, and what it began with. Of a copy that has
 * changed what it began with this counts twice what is there once, and more often with each generation: there the files are counted.
 */
export async function diskUseOf(disk: string, { diskBaseBytes = 0 }: SandboxRecord, chargedBytes: number): Promise<number> {
  if (diskBaseBytes === 0) return chargedBytes;
  const text = await runCommand(["du", "--summarize", "--one-file-system", "--block-size=1", upperOf(disk)]);
  return Math.min(chargedBytes, Number.parseInt(text, 10));
}
