import { silentLogger } from "@boxyard/core/node";
import { openLocalDriver } from "../open.ts";

/**
 * A program for tests: `die-at-volume.ts DATA_DIR before|after STEP ID [FROM]` makes the volume ID, as a copy of FROM if given, and kills itself with
 * SIGKILL at that step.
 */
async function main([dataDir, when, step, id, from]: readonly string[]): Promise<void> {
  if (!dataDir || !when || !step || !id) throw new Error("usage: die-at-volume.ts DATA_DIR before|after STEP ID [FROM]");
  const die = (name: string) => {
    if (name === step) process.kill(process.pid, "SIGKILL");
  };
  const observer = when === "before" ? { before: die } : { after: die };
  const driver = await openLocalDriver({ dataDir, logger: silentLogger, observer });
  if (step === "hideVolume") await driver.volumes.remove(id);
  else await driver.volumes.create(id, { limitBytes: 16 << 20, from });
}

// A bundle with bytecode is CommonJS, which has no `await` here.
void main(process.argv.slice(2));
