import { silentLogger } from "@boxyard/core/node";
import { openLocalDriver } from "../open.ts";
import { never, testSpec } from "./machine.ts";

/** A program for tests: `die-at-step.ts DATA_DIR before|after STEP` makes, starts and removes a sandbox, and kills itself with SIGKILL at that step. */
async function main([dataDir, when, step]: readonly string[]): Promise<void> {
  if (!dataDir || !when || !step) throw new Error("usage: die-at-step.ts DATA_DIR before|after STEP");

  const die = (name: string) => {
    if (name === step) process.kill(process.pid, "SIGKILL");
  };
  const observer = when === "before" ? { before: die } : { after: die };
  const driver = await openLocalDriver({ dataDir, logger: silentLogger, observer });
  const spec = testSpec(dataDir);
  console.log(spec.sandboxId);
  const handle = await driver.create(spec, never);
  await driver.start(handle, never);
  await driver.destroy(handle);
}

// A bundle with bytecode is CommonJS, which has no `await` here.
void main(process.argv.slice(2));
