import {
  captureSteps,
  createVolumeSteps,
  createSteps as driverCreate,
  startSteps as driverStart,
  HIDE_VOLUME,
  KEEP_FROZEN,
  pauseSteps,
  REMOVALS,
  rebootSteps,
  restoreSteps,
  rollBackToMemorySteps,
  wakeSteps,
} from "@boxyard/driver-local/faults";
import { BUILD_POINTS as buildSteps, OPERATIONS, pointsOf, TRANSITIONS, VOLUME_POINTS as volumeSteps } from "@boxyard/server/faults";
import type { FaultPoint } from "./faults.ts";

const at = (layer: FaultPoint["layer"], steps: readonly string[]) => steps.map((step) => ({ layer, step }));
const names = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => name);

/** Steps of the server's in which the driver does steps of its own. */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  "create create": names(driverCreate),
  "create start": names(driverStart),
  "warm create": names(driverCreate),
  "warm start": names(driverStart),
  "kill destroy": REMOVALS,
  "pause keep": names(pauseSteps),
  "resume start": names(restoreSteps),
  "rollback keep": names(pauseSteps),
  "rollback start": names(rollBackToMemorySteps),
  "reboot keep": names(pauseSteps),
  "reboot boot": names(rebootSteps),
  "snapshot capture": names(captureSteps),
  "fork capture": names(captureSteps),
  "volume files": names(createVolumeSteps),
};

const inOrder = (steps: readonly string[]) => steps.flatMap((step) => [...at("server", [step]), ...at("driver", WITHIN[step] ?? [])]);

const LISTS = { ...TRANSITIONS, ...OPERATIONS };

/** Every step of each transition and operation, with the driver's steps, in their order. */
export const TRANSITION_POINTS = Object.fromEntries(
  Object.entries(LISTS).map(([name, list]) => [name, inOrder(pointsOf(list))]),
) as Readonly<Record<keyof typeof LISTS, ReturnType<typeof inOrder>>>;

export const { create: CREATE_POINTS, kill: KILL_POINTS } = TRANSITION_POINTS;

/** What a pause does last, to keep its processes in memory: where it fails, the next resume is one from the image. */
export const KEEP_IN_MEMORY = { layer: "driver", step: KEEP_FROZEN } as const;
/** The driver's steps of a resume of a sandbox that is still in memory. */
export const WAKE_POINTS = at("driver", names(wakeSteps));

/** Every kind of step of a template's build. */
export const BUILD_POINTS = at("server", buildSteps);

/** What happens to a volume; its removal hides it first. */
export const VOLUME_POINTS = {
  create: inOrder(volumeSteps.create),
  resize: inOrder(volumeSteps.resize),
  remove: inOrder(volumeSteps.remove),
  hidden: { layer: "driver", step: HIDE_VOLUME, when: "after" },
} as const;
