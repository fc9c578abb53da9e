/* For tests that run the real server with faults between its steps. */
export { localMachine } from "./local-machine.ts";
export { createSteps } from "./sandboxes/create-steps.ts";
export { END_STEPS } from "./sandboxes/lifecycle.ts";
export { BUILD_POINTS } from "./templates/builds/build-points.ts";
export { run } from "./verbs/index.ts";
