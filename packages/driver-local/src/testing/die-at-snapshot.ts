import { silentLogger } from "@boxyard/core/node";
import type { SandboxSpec } from "@boxyard/driver";
import { openLocalDriver } from "../open.ts";
import { never } from "./machine.ts";

/**
 * A program for tests: `die-at-snapshot.ts DATA_DIR before|after STEP MEMORY SPEC` captures a running sandbox as snapshot `s`. If the spec has
 * `from`, it makes and starts the sandbox, or rolls it back if it is paused. It kills itself with SIGKILL at that step.
 */
async function main([dataDir, when, step, memory, text]: readonly string[]): Promise<void> {
  if (!dataDir || !when || !step || !text) throw new Error("usage: die-at-snapshot.ts DATA_DIR before|after STEP MEMORY SPEC");

  const die = (name: string) => {
    if (name === step) process.kill(process.pid, "SIGKILL");
  };
  const observer = when === "before" ? { before: die } : { after: die };
  const driver = await openLocalDriver({ dataDir, logger: silentLogger, observer });
  const spec = JSON.parse(text) as SandboxSpec;
  const options = { memory: memory === "true" };
  if (!spec.from) {
    const handle = { driver: driver.name, sandboxId: spec.sandboxId, incarnation: spec.incarnation };
    await driver.snapshots.capture(handle, { id: "s", ...options }, never);
  } else if (await driver.generation(spec.sandboxId)) await driver.resume(spec, options, never);
  else await driver.start(await driver.create(spec, never), never);
}

// A bundle with bytecode is CommonJS, which has no `await` here.
void main(process.argv.slice(2));
