// Runs the suite with Node's own runner, against the built package: `node --test` is given this file, bundled.
import { test } from "node:test";
import { CASES, runCase } from "./suite.ts";

// The path is given as an argument, so that the package is loaded as a user would load it and is not bundled into the test.
const sdk = await import(process.argv.at(-1) as string);

// A timer or connection that the package left behind would keep the process from ending: the test that starts us would notice.
for (const [name, run] of CASES) test(name, () => runCase(sdk, run));
