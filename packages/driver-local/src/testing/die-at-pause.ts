import { silentLogger } from "@boxyard/core/node";
import type { SandboxSpec } from "@boxyard/driver";
import { openLocalDriver } from "../open.ts";
import { never } from "./machine.ts";

/**
 * A program for tests: `die-at-pause.ts DATA_DIR before|after STEP MEMORY SPEC [LINGER_MS [TRIALS]]` pauses a running sandbox, or resumes a paused one,
 * and kills itself with SIGKILL at that step. With LINGER_MS the paused sandbox stays in memory, and is resumed next; with TRIALS its image is tried instead.
 */
async function main([dataDir, when, step, memory, text, linger, trials]: readonly string[]): Promise<void> {
  if (!dataDir || !when || !step || !text)
    throw new Error("usage: die-at-pause.ts DATA_DIR before|after STEP MEMORY SPEC [LINGER_MS [TRIALS]]");

  const die = (name: string) => {
    if (name === step) process.kill(process.pid, "SIGKILL");
  };
  const observer = when === "before" ? { before: die } : { after: die };
  const wakeCache = linger === undefined ? {} : { wakeCache: { lingerMs: Number(linger), trialsAtOnce: Number(trials ?? 0) } };
  const driver = await openLocalDriver({ dataDir, logger: silentLogger, observer, ...wakeCache });
  const spec = JSON.parse(text) as SandboxSpec;
  const options = { memory: memory === "true" };
  const handle = { driver: driver.name, sandboxId: spec.sandboxId, incarnation: spec.incarnation };
  if (await driver.generation(spec.sandboxId)) await driver.resume(spec, options, never);
  else await driver.pause(handle, options, never);
  if (trials !== undefined) setInterval(() => {}, 1_000);
  else if (linger !== undefined) await driver.resume({ ...spec, incarnation: spec.incarnation + 1 }, options, never);
}

// A bundle with bytecode is CommonJS, which has no `await` here.
void main(process.argv.slice(2));
