import { silentLogger } from "@boxyard/core/node";
import { openLocalDriver } from "../open.ts";
import { never, testSpec } from "./machine.ts";

/** A program for tests: `die-at-step.ts DATA_FOLDER before|after STEP` makes and starts a sandbox and is killed at that step, as by `kill -9`. */
const [dataFolder, when, step] = process.argv.slice(2);
if (!dataFolder || !when || !step) throw new Error("usage: die-at-step.ts DATA_FOLDER before|after STEP");

const die = (name: string) => {
  if (name === step) process.kill(process.pid, "SIGKILL");
};
const observer = when === "before" ? { before: die } : { after: die };
const driver = await openLocalDriver({ dataFolder, logger: silentLogger, observer });
const spec = testSpec(dataFolder);
console.log(spec.sandboxId);
await driver.start(await driver.create(spec, never), never);
