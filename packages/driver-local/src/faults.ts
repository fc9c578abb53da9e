/* For tests that put faults between the driver's steps. */
export { pauseSteps } from "./checkpoint/pause.ts";
export { restoreSteps } from "./checkpoint/resume.ts";
export { createSteps, startSteps } from "./steps/index.ts";
export { REMOVALS } from "./teardown.ts";
