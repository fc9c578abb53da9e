import { existsSync } from "node:fs";
import { join } from "node:path";
import { CHECKOUT, readTestConfig } from "../config.ts";

/** The server's programs, as paths in the checkout: as users start it, and with the faults that a test asks for. */
export const SERVER_PROGRAMS = { plain: "packages/server/src/main.ts", faulty: "packages/testkit/src/platform/faulty-server.ts" } as const;
/** The program of the command line, and the name of a script beside the bundles that starts its bundle. */
export const COMMAND_PROGRAM = "packages/cli/src/main.ts";
export const COMMAND_BUNDLE = "boxyard";

/** Programs of the driver's tests that kill themselves at a step of the driver. */
export const DRIVER_TEST_PROGRAMS = {
  "die-at-pause": "packages/driver-local/src/testing/die-at-pause.ts",
  "die-at-snapshot": "packages/driver-local/src/testing/die-at-snapshot.ts",
  "die-at-volume": "packages/driver-local/src/testing/die-at-volume.ts",
  "die-at-step": "packages/driver-local/src/testing/die-at-step.ts",
} as const;

/** The bundle of a program, which starts with less CPU time, where the test run has made it. */
export function bundleOrSource(source: string): string {
  return bundle(source.replace(/\.ts$/, ".js")) ?? source;
}

/** The command line: its bundle where the test run has made it, else `./boxyard`, which the front door's tests start in any case. */
export function boxyardCommand(): string {
  return bundle(COMMAND_BUNDLE) ?? join(CHECKOUT, "boxyard");
}

function bundle(name: string): string | undefined {
  const { bundles } = readTestConfig();
  const path = bundles && join(bundles, name);
  return path && existsSync(path) ? path : undefined;
}
