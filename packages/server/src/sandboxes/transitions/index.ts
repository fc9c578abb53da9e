import type { AnyTransition } from "../engine/transition.ts";
import { claim } from "./claim.ts";
import { commitLayer } from "./commit-layer.ts";
import { createTransition } from "./create.ts";
import { kill } from "./kill.ts";
import { pause } from "./pause.ts";
import { reboot } from "./reboot.ts";
import { resize } from "./resize.ts";
import { resume } from "./resume.ts";
import { rollback } from "./rollback.ts";
import { setEgress } from "./set-egress.ts";
import { setEnd } from "./set-end.ts";
import { snapshot } from "./snapshot.ts";
import { warm } from "./warm.ts";

/** Every transition: the fault suite, the crash suite and the check of the legal moves run over this table. */
export const TRANSITIONS = {
  create: createTransition,
  kill,
  pause,
  resume,
  setEgress,
  resize,
  setEnd,
  snapshot,
  rollback,
  reboot,
  commitLayer,
  warm,
  claim,
} as const satisfies Readonly<Record<string, AnyTransition>>;

export type TransitionName = keyof typeof TRANSITIONS;
