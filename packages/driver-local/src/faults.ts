/* For tests that put faults between the driver's steps. */
export { createSteps, startSteps } from "./steps/index.ts";
export { REMOVALS } from "./teardown.ts";
