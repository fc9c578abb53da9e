/* What tests import that run the real server with faults between its steps. */
export { localMachine } from "./local-machine.ts";
export { pointsOf } from "./sandboxes/engine/transition.ts";
export { OPERATIONS } from "./sandboxes/operations.ts";
export { TRANSITIONS } from "./sandboxes/transitions/index.ts";
export { BUILD_POINTS } from "./templates/builds/stage/build-points.ts";
export { run } from "./verbs/index.ts";
export { VOLUME_POINTS } from "./volumes/volumes.ts";
