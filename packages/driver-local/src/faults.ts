/* For tests that put faults between the driver's steps. */
export { KEEP_FROZEN, pauseSteps } from "./checkpoint/pause.ts";
export { rebootSteps, restoreSteps } from "./checkpoint/resume.ts";
export { wakeSteps } from "./checkpoint/wake.ts";
export { HIDE_VOLUME } from "./driver/local-volumes.ts";
export { REMOVALS } from "./sandbox/teardown.ts";
export { captureSteps } from "./snapshots/capture.ts";
export { rollBackToMemorySteps } from "./snapshots/steps.ts";
export { createSteps, startSteps } from "./steps/index.ts";
export { createVolumeSteps } from "./user-volumes/create.ts";
