import { createSteps as driverCreate, startSteps as driverStart, REMOVALS } from "@boxyard/driver-local/faults";
import { BUILD_POINTS as buildSteps, END_STEPS, createSteps as serverCreate } from "@boxyard/server/faults";
import type { FaultPoint } from "./faults.ts";

const at = (layer: FaultPoint["layer"], steps: readonly string[]) => steps.map((step) => ({ layer, step }));
const names = (steps: readonly { readonly name: string }[]) => steps.map(({ name }) => name);

/** Steps of the server's in which the driver does steps of its own. */
const WITHIN: Readonly<Record<string, readonly string[]>> = {
  create: names(driverCreate),
  start: names(driverStart),
  destroy: REMOVALS,
};

const inOrder = (steps: readonly string[]) => steps.flatMap((step) => [...at("server", [step]), ...at("driver", WITHIN[step] ?? [])]);

/** Every step of a create, of the server's and of the driver's, in the order in which they come. */
export const CREATE_POINTS = inOrder(names(serverCreate));

/** Every step of a kill. */
export const END_POINTS = inOrder(END_STEPS);

/** Every kind of step of a template's build. */
export const BUILD_POINTS = at("server", buildSteps);
