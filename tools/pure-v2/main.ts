/* Runs test files inside a guest with pure cgroup v2: `bun tools/pure-v2/main.ts FILE…` (paths relative to the checkout). */
import { readConfig } from "../config.ts";
import { runTestsInGuest } from "./run-tests.ts";

const config = readConfig();
const run = await runTestsInGuest({
  cacheDir: config.cacheDir,
  dataDir: config.testDataDir,
  files: process.argv.slice(2),
  limitMs: 900_000,
  testLimitMs: 120_000,
  env: config.env,
  onText: (text) => process.stdout.write(text),
});
console.log(run.report === undefined ? "no report" : "reported", `${(run.cpuMs / 1000).toFixed(1)} s of CPU time`);
